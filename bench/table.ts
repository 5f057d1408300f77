/** Tables for a terminal. */
import Table from 'cli-table3';

/** The first column is names, the others are numbers. */
export function plain(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    style: { head: [], border: [], compact: true },
    colAligns: head.map((_, index) => (index === 0 ? 'left' : 'right')),
  });
  for (const cells of rows) table.push([...cells]);
  return table.toString();
}
