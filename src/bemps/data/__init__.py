"""Datasets: published ones by name, and a user's own files and folders, as items with stable ids."""

from bemps.data.identity import content_hash as content_hash
from bemps.data.identity import hashes_of as hashes_of
from bemps.data.images import ImageArray as ImageArray
from bemps.data.images import ImageFiles as ImageFiles
from bemps.data.images import Images as Images
from bemps.data.loading import load as load
from bemps.data.own import dataset_of as dataset_of
from bemps.data.published.catalogue import datasets as datasets
from bemps.data.reading import read as read
from bemps.data.sampling import initial_labels as initial_labels
from bemps.data.sampling import stratified_holdout as stratified_holdout
from bemps.data.table import NO_LABEL as NO_LABEL
from bemps.data.table import Dataset as Dataset
from bemps.data.table import Findings as Findings
from bemps.data.table import Removed as Removed
from bemps.data.table import Table as Table
from bemps.data.table_building import table as table
