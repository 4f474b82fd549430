"""How long a job still takes, by the speed that was measured; nothing where that speed does not say it."""

from bisect import bisect_right

LEAST_SHARE = 0.1  # of the work, before which a speed says little
LEAST_SECONDS = 10.0
MOST_APART = 1.5  # by which the speed of the later half may differ from that of the whole
MINUTE = 60.0


class TimeLeft:
    """The progress of one job. Time is that of the clock on the wall: other programs take their part of the machine."""

    def __init__(self) -> None:
        self._shares, self._times = [0.0], [0.0]

    def seconds(self, passed: float, share: float) -> float | None:
        """Note how far the job is, and return how many seconds are left; None if its speed changes too much.

        Parameters
        ----------
        passed : float
            The seconds since it began.
        share : float
            The share of its steps that is done.

        Returns
        -------
        float or None
            The seconds.
        """
        if share > self._shares[-1]:
            self._shares.append(share)
            self._times.append(passed)
        half = bisect_right(self._shares, share / 2) - 1  # the last report of the first half
        if share < LEAST_SHARE or passed < LEAST_SECONDS or half == 0:
            return None
        recent, usual = (passed - self._times[half]) / (share - self._shares[half]), passed / share
        if max(recent, usual) > MOST_APART * min(recent, usual):
            return None
        return (1 - share) * recent


def in_minutes(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < MINUTE:
        return "less than a minute"
    minutes = round(seconds / MINUTE)
    return "about a minute" if minutes == 1 else f"about {minutes} minutes"
