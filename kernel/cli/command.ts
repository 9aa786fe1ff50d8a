import type { Static, TObject, TProperties } from 'typebox'
import type { Kernel } from '../services.ts'
import type { Filled, Slot } from '../slot.ts'
import type { PluginStore } from '../store/sql/migrations.ts'
import { Type } from './args.ts'

/**
 * A command of the executable. Arguments in `positional` are positional, and the last may be an array; all others are
 * `--kebab-case` options. They are checked by type, const, enum, anyOf, minimum, maximum, minItems and maxItems.
 */
export interface CommandDefinition<A extends TObject = TObject> {
  readonly name: string // 'client enroll': one to three words
  readonly aliases?: readonly string[] // for the last word: 'create' for 'rule push'
  readonly summary: string
  readonly examples?: readonly string[] // for its help: 'sluice client enroll paris'
  readonly args?: A
  readonly positional?: readonly string[]
  readonly reads?: readonly Slot<never>[] // slots that it reads with `filled`
  readonly extraArgs?: (filled: CommandCall<object>['filled']) => TProperties // options that plugins add through a slot
  /** 'api' (default): calls a server over HTTP. 'data': works on the data directory. 'server': runs one. */
  readonly needs?: 'api' | 'data' | 'server' | 'nothing'
  /** 'stopped': runs until the first signal aborts `signal`; the second aborts `forceSignal`. */
  readonly until?: 'stopped'
  /** Resolves with an exit code if it is not 0. Throws Fault. */
  run(call: CommandCall<Static<A>>): Promise<void> | Promise<number>
}

export interface Command<A extends TObject = TObject> extends CommandDefinition<A> {
  readonly args: A
  readonly needs: NonNullable<CommandDefinition['needs']>
}

export interface CommandCall<A> {
  readonly args: A
  /** For needs 'api'. `connect` uses another origin and token. */
  readonly api: Api
  readonly connect: (origin: string, token: string) => Api
  /** For needs 'data': opens the data directory of a stopped server and returns the plugin's services. */
  readonly open: (plugin: string) => Promise<Kernel>
  /** For needs 'server'. */
  readonly serve: (options: ServeOptions) => Promise<RunningServer>
  /** For needs 'data' and 'server'. */
  readonly dataDir: () => string
  readonly keys: () => Readonly<Record<string, unknown>> // top-level keys of the configuration, validated, with defaults
  /** Judges the configuration as a start does, with files and addresses. Throws its Fault; changes nothing. */
  readonly check: () => Promise<void>
  readonly stores: readonly PluginStore[] // tables and migrations of kernel and plugins
  readonly filled: <T>(slot: Slot<T>) => readonly Filled<T>[] // only values of `fill`: there are no services
  readonly print: Print
  /**
   * Shows `losses` and asks, if there is a terminal and `--yes` is not given. Throws Fault if the answer is no. Without a
   * terminal, `unattended` decides.
   */
  readonly confirm: (
    question: string,
    more?: { readonly losses?: () => Promise<readonly string[]>; readonly unattended?: 'proceed' | 'refuse' }
  ) => Promise<void>
  readonly input: NodeJS.ReadableStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly forceSignal: AbortSignal
  readonly onReload: (listener: () => void) => void // for until 'stopped': calls the listener at SIGHUP
}

export interface ServeOptions {
  /** Values of configuration keys that neither file nor environment sets. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Called for every event, even below the log level. */
  readonly onLog?: (event: string, message: string, fields: object) => void
  /** Stops the server; default: the command's signal. */
  readonly signal?: AbortSignal
  /** Waits for an unavailable store until `signal` aborts, then rejects with its reason. Default: the start fails. */
  readonly isPatient?: boolean
}
export interface RunningServer {
  readonly origin: string
  /** Reads the configuration again. Never rejects: problems are logged, and nothing changes. */
  reload(): Promise<void>
  /** Resolves when `signal` has stopped the server; rejects if a failure stopped it. */
  readonly done: Promise<void>
}

/** The operator HTTP API. Throws error replies as Faults with the server's code, message and details. */
export interface Api {
  get<T>(path: string): Promise<T>
  /** Reads all pages. */
  list<T>(path: string): Promise<T[]>
  send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<T>
}

/** A field name, or a name and a function that returns the cell. Numbers get the unit of the name: '_bytes', '_bps'. */
export type Column<R> = string | readonly [name: string, cell: (row: R) => string | number]

export interface Print {
  readonly format: 'table' | 'json' // of --output
  /** Prints JSON with `--output json`; else a table of `columns` (default: scalar ones), then `last`. */
  data<R extends object>(value: R | readonly R[], columns?: readonly Column<R>[], last?: string): void
  /** Prints what was done; with `--output json` the result. */
  done(text: string, result: object): void
  /** Prints a bare value for scripts; with `--output json` an object with the member `name`. */
  value(name: string, text: string): void
  /** Prints a result that is text in every format, such as a script or CSV. */
  text(text: string): void
  /** Prints a remark on standard error. */
  note(text: string): void
  /** Returns the word for tables, colored at a terminal if it is a state such as 'active' or 'stop'. */
  paint(word: string): string
}

const noArgs = Type.Object({})

export function defineCommand<A extends TObject>(command: CommandDefinition<A>): Command {
  return { args: noArgs, needs: 'api', ...command } as unknown as Command // `args` is validated before it runs
}
