"""``python -m tools.cost``: prints what a stage costs per month and per million events, by position."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from localstage.core.errors import StageError
from tools.cost import prices, stage
from tools.cost.model import Load, once, positions
from tools.cost.summary import Summary

POSITIVE = click.FloatRange(0, min_open=True)
NUMBER = click.FloatRange(0)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rate", type=POSITIVE, default=100.0, show_default=True, help="Events per second.")
@click.option("--event-bytes", type=click.IntRange(1, 5000), default=250, show_default=True, help="JSON of an event.")
@click.option("--batch", type=click.IntRange(1, 500), default=25, show_default=True, help="Events of a frame.")
@click.option("--listeners", type=NUMBER, default=0.0, show_default=True, help="Live copies of each event.")
@click.option("--connections", type=NUMBER, help="Open connections; default: as many as listeners.")
@click.option("--check-seconds", type=POSITIVE, default=420.0, show_default=True, help="Time between check frames.")
@click.option("--rooms", type=click.IntRange(1), default=10, show_default=True, help="Rooms with new events.")
@click.option("--http", is_flag=True, help="HTTP requests in place of WebSocket frames.")
@click.option("--config-env", default="dev", show_default=True, help="A section of samconfig.toml.")
def main(config_env: str, connections: float | None, **given: float) -> None:
    """Print what a stage costs on AWS, beside one function call and one put per event."""
    connections = given["listeners"] if connections is None else connections
    load = Load(connections=connections, **given)  # type: ignore[arg-type]
    listed = prices.read()
    try:
        read = stage.read(config_env)
        found = positions(load, read, listed)
    except StageError as error:
        raise click.ClickException(str(error)) from None
    table = Table(box=None, pad_edge=False)
    table.add_column(f"{config_env}, {listed.region}, {listed.date}")
    for name in ("at rest, $/month", "load, $/month", "usual, $/month", "$/M events", "usual, $/M"):
        table.add_column(name, justify="right")
    million = load.events / 1e6
    total = Summary(tuple(found))
    for each in found:
        if each.rest or each.load or each.usual:
            table.add_row(each.name, *_cells(each.rest, each.load, each.usual, million))
    table.add_row("[bold]sum", *_cells(total.rest, total.load, total.usual, million))
    console = Console(highlight=False)
    console.width = max(console.width, 110)
    console.print(table)
    paid_once = f"paid once, for warm tables     ${once(read, listed):,.0f}"
    click.echo("\n".join(["", *total.lines(million), paid_once, f"not confirmed: {', '.join(listed.unconfirmed)}"]))


def _cells(rest: float, load: float, usual: float, million: float) -> list[str]:
    return [f"{value:,.2f}" if value else "" for value in (rest, load, usual)] + [
        f"{value / million:,.3f}" if value else "" for value in (load, usual)
    ]


if __name__ == "__main__":
    main()
