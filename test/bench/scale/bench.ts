import type { SeededServer } from '../seeded-server.ts'
import type { Note } from './figures.ts'
import type { Helper } from './processes.ts'
import type { SeedResult } from './seed.ts'

/** The input for the rows of the page at one size. */
export interface Bench {
  readonly server: SeededServer
  readonly seeded: SeedResult
  readonly fleet: Helper // fleet.ts
  readonly callers: Helper // callers.ts
  readonly note: Note
}
