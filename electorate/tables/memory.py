"""How much memory a table takes while it is read: one that cannot fit is refused early, not when memory is gone."""

from electorate.tables.source import OpenedSource, Source

SURE = 1 / 16  # of a file: from there on, the rest is expected to be like the beginning
PER_ROW = 24  # bytes of the target, the weights and their places


class MemoryWatch:
    """Adds up what was read of a source, and compares it with the memory that was free at the beginning."""

    def __init__(self, source: Source, opened: OpenedSource | None = None) -> None:
        from electorate.data.inputs import free_memory

        self.source = source
        self.opened = opened
        self.free = free_memory()
        self.taken = 0

    def add(self, table: "object") -> None:
        self.taken += int(getattr(table, "nbytes", 0)) + PER_ROW * int(getattr(table, "num_rows", 0))
        share = None if self.opened is None else self.opened.share_read
        is_sure = share is not None and (share >= SURE or (self.free is not None and self.taken > self.free // 4))
        self.expect(int(self.taken / share) if is_sure and share else self.taken)

    def expect(self, needed: int) -> None:
        if self.free is not None and needed > self.free:
            raise MemoryError(
                f"{self.source.name}: the table takes about {needed / 2**30:.1f} GiB of memory or more, and "
                f"{self.free / 2**30:.1f} GiB are free: use fewer rows, or fewer columns (--drop COLUMN)"
            )
