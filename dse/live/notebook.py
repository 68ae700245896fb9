"""A study in a notebook: widgets for its controls, and a plot of its front, which follows."""

from __future__ import annotations

from typing import Any

from IPython.display import display
from ipywidgets import Accordion, Dropdown, FloatSlider, HBox, Label, Layout, Output, Text, VBox

from dse.live.controls import Control, change_study, list_controls, scale_value
from dse.problems import DseError
from dse.report.figures import front_figure
from dse.result.record import Result
from dse.run import run
from dse.study.study import ResolvedStudy

_WIDE = Layout(width="auto")


class Explorer(VBox):  # type: ignore[misc]
    """The controls of a study next to its front; a change searches again.

    The front before the change stays in grey. The study itself does not change: ``study`` is the
    changed one.
    """

    def __init__(self, study: ResolvedStudy) -> None:
        self.study = self._own = study
        self.changes: dict[str, dict[str, Any]] = {"inputs": {}, "limits": {}}
        self.result: Result | None = None
        self.figure: Any = None
        self._status, self._output = Label(), Output()
        groups: dict[str, list[Any]] = {}
        for control in list_controls(study):
            groups.setdefault(control.group, []).append(self._row(control))
        panel = Accordion([VBox(rows) for rows in groups.values()], titles=list(groups))
        panel.layout = Layout(width="290px")
        super().__init__([self._status, HBox([panel, self._output])])
        self._search()

    def _row(self, control: Control) -> Any:
        """Return the label and the widgets of a control."""
        rows: list[Any] = [Label(control.name)]
        if control.options:
            options = [(text, value) for value, text in control.options]
            known = {str(value): value for value, _ in control.options}
            entry: Any = Dropdown(options=options, value=known[control.value], layout=_WIDE)
        else:
            entry = Text(control.value, continuous_update=False, layout=_WIDE)
        entry.observe(lambda change: self._change(control, change["new"]), "value")
        rows.append(entry)
        if control.low is not None and control.high is not None:
            factor = FloatSlider(
                1.0,
                min=control.low,
                max=control.high,
                step=0.01,
                continuous_update=False,
                readout=False,
                layout=_WIDE,
            )
            factor.observe(
                lambda change: setattr(entry, "value", scale_value(control, change["new"])), "value"
            )
            rows.append(factor)
        return VBox(rows)

    def _change(self, control: Control, value: Any) -> None:
        changes = self.changes[control.kind]
        if str(value) in ("", control.value):
            changes.pop(control.name, None)
        else:
            changes[control.name] = value
        self._search()

    def _search(self) -> None:
        """Search the changed study, and show its front with the last front in grey."""
        self._status.value = "searching"
        try:
            study = change_study(self._own, self.changes)
            result = run(study, None)
        except DseError as error:
            self._status.value = f"{error}"
            return
        self.figure = front_figure(result, before=self.result)
        self.study, self.result = study, result
        self._status.value = result.certificate.statement
        self._output.clear_output(wait=True)
        with self._output:
            display(self.figure)
