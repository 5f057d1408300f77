/**
 * The timers of the virtual clock: a binary heap in which each timer knows its place.
 *
 *   H1  `first` is the earliest by due time, then by order of setting.
 *   H2  A removed timer leaves nothing behind, so unset deadlines do not pile up.
 */
import type { Timer } from './ports.js';

/** In its heap from the start, unless it is never due. */
export class HeapTimer implements Timer {
  readonly due: number;
  /** Serial number of the setting. */
  readonly order: number;
  readonly callback: () => void;
  /** Place in the heap, -1 outside it. Written by the heap alone. */
  position = -1;
  readonly #heap: TimerHeap;

  constructor(heap: TimerHeap, due: number, order: number, callback: () => void) {
    this.#heap = heap;
    this.due = due;
    this.order = order;
    this.callback = callback;
    if (due < Infinity) heap.add(this);
  }

  [Symbol.dispose](): void {
    this.#heap.remove(this);
  }
}

function isBefore(one: HeapTimer, other: HeapTimer): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

export class TimerHeap {
  readonly #timers: HeapTimer[] = [];

  get size(): number {
    return this.#timers.length;
  }

  get first(): HeapTimer | null {
    return this.#timers[0] ?? null;
  }

  add(timer: HeapTimer): void {
    this.#raise(timer, this.#timers.length);
  }

  /** Does nothing where the timer is not in the heap. */
  remove(timer: HeapTimer): void {
    const hole = timer.position;
    if (hole < 0) return;
    timer.position = -1;
    const last = this.#timers.pop();
    if (last === undefined || last === timer) return;
    // The last timer fills the hole; it may belong above it or below.
    this.#raise(last, hole);
    if (last.position === hole) this.#lower(last, hole);
  }

  #put(timer: HeapTimer, position: number): void {
    this.#timers[position] = timer;
    timer.position = position;
  }

  /** Puts the timer at `position`, or nearer the root. */
  #raise(timer: HeapTimer, position: number): void {
    while (position > 0) {
      const parentPosition = (position - 1) >> 1;
      const parent = this.#timers[parentPosition];
      if (parent === undefined || !isBefore(timer, parent)) break;
      this.#put(parent, position);
      position = parentPosition;
    }
    this.#put(timer, position);
  }

  /** Puts the timer at `position`, or further from the root. */
  #lower(timer: HeapTimer, position: number): void {
    for (;;) {
      const [left, right] = [this.#timers[2 * position + 1], this.#timers[2 * position + 2]];
      if (left === undefined) break;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(child, timer)) break;
      const childPosition = child.position;
      this.#put(child, position);
      position = childPosition;
    }
    this.#put(timer, position);
  }
}
