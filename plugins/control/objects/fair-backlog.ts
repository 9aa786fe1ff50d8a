import type { ManagedObject } from '../../../kernel/control/managed-objects.ts'
import { objectKey } from '../../../kernel/wire/control.ts'

/** Rows that one call of `take` returns. */
interface Taken {
  readonly all: number
  readonly ofLane: number
}

/**
 * The unsent rows of one client, in a lane for each owner. Lanes take turns, so that an owner with many changes does not
 * delay the others. A lane keeps the order of its changes, and has one row per object.
 */
export class FairBacklog {
  readonly #lanes = new Map<string, Map<string, ManagedObject>>() // the one that was served longest ago is first
  readonly #laneOf = new Map<string, string>() // by object
  readonly #takenFrom = new WeakMap<ManagedObject, string>() // the lanes of taken rows
  readonly #early = new WeakSet<ManagedObject>() // taken before a change that was made earlier
  #postponed: ManagedObject[] = []

  get size(): number {
    return this.#laneOf.size + this.#postponed.length
  }

  /** Replaces an unsent row of the same object. */
  add(row: ManagedObject, lane: string): void {
    const key = objectKey(row)
    this.#remove(key)
    this.#postponed = this.#postponed.filter(other => objectKey(other) !== key)
    this.#lanes.set(lane, (this.#lanes.get(lane) ?? new Map()).set(key, row))
    this.#laneOf.set(key, lane)
  }

  /**
   * Removes and returns the next rows, in the order of their change. `isFull` tells whether a lane must wait, after the rows
   * that were taken so far.
   */
  take(max: number, isFull: (lane: string, taken: Taken) => boolean): ManagedObject[] {
    const first = this.#firstRevision()
    const rows = this.#postponed.filter(({ revision }) => revision < first)
    this.#postponed = this.#postponed.filter(({ revision }) => revision >= first)
    const perLane = new Map<string, number>()
    for (const [lane, own] of this.#lanes) {
      if (rows.length >= max) break
      const ofLane = perLane.get(lane) ?? 0
      if (isFull(lane, { all: rows.length, ofLane })) continue
      const [key = '', row] = own.entries().next().value ?? []
      this.#remove(key)
      this.#lanes.delete(lane)
      if (own.size > 0) this.#lanes.set(lane, own) // to the end of the order, which this loop reaches again
      perLane.set(lane, ofLane + 1)
      if (!row) continue
      this.#takenFrom.set(row, lane)
      rows.push(row)
    }
    const unsent = this.#firstRevision()
    for (const row of rows) if (row.revision > unsent) this.#early.add(row)
    return rows.sort((a, b) => a.revision - b.revision)
  }

  /** Returns the lane of a taken row. */
  laneOf(row: ManagedObject): string {
    return this.#takenFrom.get(row) ?? ''
  }

  /**
   * Returns whether to ignore the refusal of a sent row. An earlier change may have to go first, for example one that frees
   * a port: the row is then taken again after all earlier ones.
   */
  postpone(row: ManagedObject): boolean {
    if (!this.#early.delete(row)) return false
    if (!this.#laneOf.has(objectKey(row))) this.#postponed.push(row) // else a newer row follows
    return true
  }

  #firstRevision(): number {
    const heads = this.#lanes.values().map(own => own.values().next().value?.revision ?? 0)
    return heads.reduce((least, revision) => Math.min(least, revision), Number.POSITIVE_INFINITY)
  }

  #remove(key: string): void {
    const lane = this.#laneOf.get(key)
    if (lane === undefined) return
    this.#laneOf.delete(key)
    const own = this.#lanes.get(lane)
    own?.delete(key)
    if (own?.size === 0) this.#lanes.delete(lane)
  }
}
