"""Tests that macOS or Windows leave out, by their paths below `tests`; whole files are not even imported there."""

# /proc, and processes that are found in it
OF_LINUX = (
    "distributed/test_client.py",
    "distributed/test_cluster.py",
    "distributed/test_on_ray.py",
    "learner/test_door.py::test_a_path_that_cannot_be_written_is_a_sentence",
    "models/test_token_store.py::test_texts_that_come_one_by_one_leave_no_file_open",
    "store/test_opening.py::test_a_project_that_cannot_be_made_is_refused_at_once",
)
# signals, rights and owners of files, limits of a process, links and pipes, which Windows has not or not for everybody
OF_POSIX = (
    "core/test_child_processes.py::test_ctrl_c_in_the_first_second_ends_in_one_line",
    "core/test_child_processes.py::test_ctrl_c_that_the_caller_ignores_is_ignored",
    "core/test_child_processes.py::test_ctrl_c_while_options_are_read_ends_in_one_line",
    "core/test_damaged_files.py::test_damaged_files_end_in_a_sentence",
    "core/test_damaged_files.py::test_links_that_lead_nowhere_are_passed_over",
    "core/test_damaged_files.py::test_ten_thousand_damaged_files_end_in_a_sentence",
    "core/test_io.py::test_a_link_to_a_folder_of_ours_is_not_replaced",
    "core/test_io.py::test_a_lock_is_of_one_process_and_no_link",
    "core/test_io.py::test_a_path_that_leads_out_of_a_folder_is_none",
    "core/test_io.py::test_links_are_never_replaced",
    "core/test_io.py::test_what_a_killed_writer_left_is_taken_away",
    "core/test_systems.py",  # it pretends to be on Windows
    "distributed/test_luggage.py::test_a_cache_that_others_can_write_to_is_refused",
    "docs/test_container_runs.py",
    "docs/test_ways_in.py::test_the_page_opens_as_the_installation_says",
    "experiments/test_durability.py::test_a_journal_that_cannot_grow_keeps_what_it_has",
    "experiments/test_durability.py::test_a_read_only_folder_is_a_clear_error",
    "experiments/test_durability.py::test_interrupt_says_how_to_continue",
    "learner/test_saved_learners.py::test_a_killed_save_leaves_no_litter_and_loses_nothing",
    "models/test_onnx_bert.py",
    "project/test_outputs.py::test_nothing_of_the_users_is_ever_replaced",
    "project/test_outputs.py::test_select_does_not_replace_its_arrays_or_other_files",
    "project/test_project_models.py::test_a_folder_of_your_own_is_a_model_with_words_beside",
    "server/test_coach.py::test_a_model_that_dies_is_said_and_starts_again_while_labelling_goes_on",
    "server/test_connections.py::test_the_limit_of_files_is_raised",
    "server/test_http.py::test_however_a_server_is_ended_the_project_is_one_file",
    "server/test_image_files.py::test_a_link_inside_the_folder_is_shown",
    "server/test_image_files.py::test_a_link_that_is_put_there_after_the_check_is_not_followed",
    "server/test_image_files.py::test_a_pipe_is_no_image",
    "server/test_image_files.py::test_an_image_that_is_swapped_again_and_again_never_shows_another_file",
    "server/test_image_files.py::test_nothing_outside_the_folder_is_shown",
    "server/test_shown_columns.py::test_images_of_columns_are_guarded_as_those_of_items",
    "server/test_starting.py::test_images_of_a_folder_are_items_by_their_paths",
    "server/test_token.py::test_files_of_a_project_with_a_token_are_for_their_owner_alone",
    "server/test_token.py::test_no_process_shows_the_token",
    "server/test_uploads.py::test_a_kill_while_a_project_is_made_leaves_nothing_for_long",
    "store/test_full_disk.py::test_a_file_that_may_not_grow",
    "store/test_killed_writers.py",
    "store/test_lost_server.py",
    "store/test_serving.py::test_a_killed_server_leaves_the_project_free",
    "store/test_serving.py::test_a_link_to_the_project_is_the_same_project",
    "store/test_serving.py::test_a_lock_that_is_a_link_is_refused_and_its_target_stays",
)


def left_out(system: str) -> frozenset[str]:
    """The files and tests that a system, named as in `sys.platform`, does not run."""
    return frozenset((() if system == "linux" else OF_LINUX) + (OF_POSIX if system == "win32" else ()))
