"""How many more labels a round goal takes, by the calibrated forecast of `bemps.learner.forecast_calibration`."""

from bemps.learner.forecast_calibration import ACCURACY, ROUND, improvement

GOALS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FARTHEST = 200  # labels: twice what forecasts were measured over
LEAST = 0.02  # a goal that is nearer is not one


def next_goal(accuracy: float, labels: int, classes: int, changed: float) -> tuple[float, int] | None:
    """Return the next goal and the number of labels that it is expected to take.

    Parameters
    ----------
    accuracy : float
        The present accuracy.
    labels : int
        The number of labels so far.
    classes : int
        The number of classes.
    changed : float
        The share of predictions that changed in the last round.

    Returns
    -------
    tuple of (float, int) or None
        The goal and the labels. None if the goal is too far away for a forecast.
    """
    goal = next((goal for goal in GOALS if goal >= accuracy + LEAST), None)
    if goal is None:
        return None
    for size in range(ROUND, FARTHEST + 1, ROUND):
        if accuracy + improvement(ACCURACY, labels, classes, size, changed=changed).mean >= goal:
            return goal, size
    return None
