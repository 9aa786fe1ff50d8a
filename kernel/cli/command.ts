import type { Static, TObject, TProperties } from 'typebox'
import type { Kernel } from '../plugin.ts'
import type { Filled, Slot } from '../slot.ts'

/**
 * One command of the executable, as data. `args` gives names, types and help of all its arguments:
 * those in `positional` are written bare (the last may be an array), all others are `--kebab-case` options.
 */
export interface Command<A extends TObject = TObject> {
  readonly name: string // 'client enroll': at most two words
  readonly summary: string
  readonly args: A
  readonly positional?: readonly string[]
  readonly extraArgs?: (filled: CommandCall<object>['filled']) => TProperties // options that plugins add by a slot
  /** 'api': speaks to a server over HTTP. 'data': works on the data directory of a stopped server. 'server': is one. */
  readonly needs: 'api' | 'data' | 'server' | 'nothing'
  /** 'stopped': runs until a signal comes; `signal` tells the first, `cut` the second. */
  readonly until?: 'stopped'
  run(call: CommandCall<Static<A>>): Promise<void>
}

export interface CommandCall<A> {
  readonly args: A
  /** For needs 'api', and for whoever has an origin and a token. */
  readonly api: Api
  readonly connect: (origin: string, token: string) => Api
  /** The named plugin's services over the data directory, for needs 'data'. */
  readonly open: (plugin: string) => Promise<Kernel>
  /** A running server, for needs 'server'. */
  readonly serve: (options: ServeOptions) => Promise<RunningServer>
  readonly dataDir: () => string // as configured
  readonly keys: () => Readonly<Record<string, unknown>> // the server's top-level ones, checked, with defaults
  readonly filled: <T>(slot: Slot<T>) => readonly Filled<T>[] // with bare values: nothing is wired
  readonly print: Print
  readonly input: NodeJS.ReadableStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly forceSignal: AbortSignal
}

export interface ServeOptions {
  /** Keys of the configuration that this start sets over file and environment. */
  readonly keys?: Readonly<Record<string, unknown>>
  /** Sees every log line. */
  readonly onLog?: (event: string, message: string, fields: object) => void
  /** Stops it, in place of the command's signal. */
  readonly signal?: AbortSignal
}
export interface RunningServer {
  readonly origin: string
  /** Settles when the server has stopped by `signal`; rejects when it had to stop by itself. */
  readonly done: Promise<void>
}

/** The operator HTTP API. A refusal is thrown as the Fault of its row, with the server's message and details. */
export interface Api {
  get<T>(path: string): Promise<T>
  /** All pages of a list. */
  list<T>(path: string): Promise<T[]>
  send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<T>
}

/** A field by its name, or a name and how its cell is made of the row. */
export type Column<R> = string | readonly [name: string, cell: (row: R) => string]

export interface Print {
  /** A record or rows: JSON with `--output json`, else a table of `columns` (default: all scalar fields), and `last`. */
  data<R extends object>(value: R | readonly R[], columns?: readonly Column<R>[], last?: string): void
  /** One value, bare, for a script; with `--output json` an object that has it under `name`. */
  value(name: string, text: string): void
  /** A line on standard output; with `--output json` it goes to standard error. */
  line(text: string): void
}

export function defineCommand<A extends TObject>(command: Command<A>): Command {
  return command as unknown as Command // its arguments are validated against its own schema before it runs
}
