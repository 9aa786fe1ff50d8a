// `sluice top`: connects keys, stream and screen.
import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault, serverUnreachable, wrongUsage } from '../../../kernel/base/errors.ts'
import type { Release } from '../../../kernel/base/releases.ts'
import type { Api, CommandCall } from '../../../kernel/cli/command.ts'
import type { ConnectionsEvent } from '../schema.ts'
import type { ColumnName } from './column-names.ts'
import { type Column, columnNamed, columns } from './columns.ts'
import { type Filters, filterText, loadQuery, parseFilter } from './filter.ts'
import { followStream } from './follow-stream.ts'
import { frame, rowsOnPage, type State, shownRows } from './frame.ts'
import { editPrompt, type Prompt } from './prompt.ts'
import { type Key, openScreen, type Screen } from './screen.ts'
import { withRates } from './with-rates.ts'

export interface TopOptions
  extends Pick<CommandCall<object>, 'api' | 'print' | 'signal' | 'onReload' | 'env'> {
  readonly filter: Filters
  readonly moreFilters: readonly string[] // of other plugins
  readonly sort: ColumnName
  readonly limit: number // maximum number of rows in an event
  readonly once: boolean
}

/** Runs until a key, the signal or a hangup ends it. Throws if the server refuses the query. */
export async function runTop(options: TopOptions): Promise<void> {
  if (options.once) return printOnce(options)
  if (!process.stdin.isTTY || !process.stdout.isTTY || options.env['TERM'] === 'dumb')
    throw new Fault(wrongUsage, 'top needs a terminal; --once prints one frame anywhere')
  const top = new Top(options)
  try {
    await top.done
  } finally {
    top.close()
  }
}

/** Prints one frame of all rows after the second event, since rates need two. */
async function printOnce({ api, print, signal, filter, sort, limit }: TopOptions): Promise<void> {
  const state = openState(api, filter, sort)
  const query = { ...(await loadQuery(api, filter)), sort: state.sort.first, limit }
  let before: ConnectionsEvent | null = null
  for await (const { data: event } of api.events('GET /v1/connections/stream', { query }, signal)) {
    if (before) {
      const size = { width: process.stdout.columns || 200, height: event.connections.length + 8 }
      const lines = frame({ ...state, event, rows: withRates(before, event) }, size, systemClock.now())
      const text = lines.slice(0, -1).map(({ text }) => text.trimEnd())
      return print.done(text.join('\n').trimEnd(), event)
    }
    before = event
  }
  if (!signal.aborted) throw new Fault(serverUnreachable, 'the server ended the stream')
}

const openState = ({ origin }: Api, filter: Filters, sort: ColumnName): State => ({
  origin,
  event: null,
  rows: [],
  lost: null,
  filter: filterText(filter),
  sort: columnNamed(sort),
  isReversed: false,
  index: 0,
  page: 'connections',
  message: ''
})

class Top {
  readonly #options: TopOptions
  readonly #end = Promise.withResolvers<void>()
  readonly #screen: Screen
  readonly #stopClock: Release
  #filter: Filters
  #state: State
  #prompt: Prompt | null = null
  #stream = new AbortController()

  constructor(options: TopOptions) {
    this.#options = options
    this.#filter = options.filter
    this.#state = openState(options.api, options.filter, options.sort)
    const quit = (): void => this.#end.resolve()
    options.signal.addEventListener('abort', quit)
    options.onReload(quit) // SIGHUP: the terminal is gone
    this.#screen = openScreen({
      input: process.stdin,
      output: process.stdout,
      onKey: key => this.#try(() => this.#onKey(key)),
      onChange: () => this.#try(() => this.#draw()),
      onGone: quit
    })
    this.#stopClock = systemClock.every(1000, () => this.#try(() => this.#draw())) // updates the time since the loss
    if (options.signal.aborted) quit()
    this.#follow(this.#filter)
  }

  get done(): Promise<void> {
    return this.#end.promise
  }

  close(): void {
    this.#stopClock()
    this.#stream.abort()
    this.#screen.close()
  }

  /** An error in a listener ends the command and restores the terminal. */
  #try(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#end.reject(error)
    }
  }

  #set(changes: Partial<State>): void {
    this.#state = { ...this.#state, ...changes }
    this.#draw()
  }

  #draw(): void {
    const message = this.#prompt ? `${this.#prompt.question}${this.#prompt.text}` : this.#state.message
    this.#screen?.draw(frame({ ...this.#state, message }, this.#screen.size(), systemClock.now()))
  }

  /** Follows another query. If the server refuses the filter, the previous one stays. */
  #follow(filter: Filters): void {
    this.#stream.abort()
    const stream = new AbortController()
    this.#stream = stream
    const { sort } = this.#state
    const query = { filter, sort: sort.first, limit: this.#options.limit }
    const isCurrent = (): boolean => this.#stream === stream
    const feed = {
      onEvent: (event: ConnectionsEvent) => isCurrent() && this.#onEvent(event, filter),
      onLost: (cause: string) => isCurrent() && this.#onLost(cause)
    }
    followStream(this.#options.api, query, feed, stream.signal).catch((error: unknown) => {
      if (!isCurrent()) return
      const { errorCode, message } = error as Partial<Fault>
      if (errorCode?.http !== 400 || this.#filter === filter) return this.#end.reject(error)
      this.#set({ message: message ?? '' })
      this.#follow(this.#filter)
    })
  }

  #onEvent(event: ConnectionsEvent, filter: Filters): void {
    const isNew = this.#filter !== filter
    this.#filter = filter
    const before = isNew || this.#state.lost ? null : this.#state.event
    this.#set({
      event,
      rows: withRates(before, event),
      lost: null,
      filter: filterText(filter),
      ...(isNew && { index: 0, message: '' })
    })
  }

  #onLost(cause: string): void {
    this.#set({ lost: { since: this.#state.lost?.since ?? systemClock.now(), cause } })
  }

  #onKey(key: Key): void {
    if (key.ctrl && key.name === 'c') this.#end.resolve()
    else if (key.ctrl && key.name === 'z') this.#screen.suspend()
    else if (this.#prompt) this.#onAnswer(this.#prompt, key)
    else this.#onCommand(key)
  }

  #onCommand(key: Key): void {
    this.#state = { ...this.#state, message: '' }
    const letter = key.sequence ?? ''
    const column = columns.find(({ key }) => key === letter)
    if (column) this.#sortBy(column)
    else (this.#actions[letter] ?? this.#actions[key.name ?? ''] ?? (() => this.#draw()))()
  }

  readonly #actions: Readonly<Record<string, () => void>> = {
    q: () => this.#end.resolve(),
    f: () =>
      this.#ask({ question: 'Filter: ', text: filterText(this.#filter), done: text => this.#filterBy(text) }),
    k: () => this.#closeSelected(),
    K: () => this.#run(this.#closeMatching()),
    e: () => this.#set({ page: this.#state.page === 'clients' ? 'connections' : 'clients' }),
    h: () => this.#set({ page: this.#state.page === 'help' ? 'connections' : 'help' }),
    '?': () => this.#set({ page: this.#state.page === 'help' ? 'connections' : 'help' }),
    escape: () => this.#set({ page: 'connections' }),
    up: () => this.#move(-1),
    down: () => this.#move(1),
    pageup: () => this.#move(-rowsOnPage(this.#screen.size())),
    pagedown: () => this.#move(rowsOnPage(this.#screen.size())),
    '<': () => this.#move(-rowsOnPage(this.#screen.size())),
    '>': () => this.#move(rowsOnPage(this.#screen.size())),
    space: () => this.#move(rowsOnPage(this.#screen.size())),
    home: () => this.#move(Number.NEGATIVE_INFINITY),
    end: () => this.#move(Number.POSITIVE_INFINITY)
  }

  #move(by: number): void {
    const last = Math.max(0, this.#state.rows.length - 1)
    this.#set({ index: Math.max(0, Math.min(last, Math.min(last, this.#state.index) + by)) })
  }

  #sortBy(sort: Column): void {
    const before = this.#state.sort
    this.#set({ sort, isReversed: sort === before && !this.#state.isReversed, index: 0, page: 'connections' })
    if (sort.first !== before.first) this.#follow(this.#filter)
  }

  #ask(prompt: Prompt): void {
    this.#prompt = prompt
    this.#draw()
  }

  #onAnswer(prompt: Prompt, key: Key): void {
    const answer = editPrompt(prompt, key)
    this.#prompt = 'prompt' in answer ? answer.prompt : null
    if ('done' in answer) prompt.done(answer.done)
    this.#draw()
  }

  #filterBy(text: string): void {
    const filter = parseFilter(text, this.#options.moreFilters)
    if ('problem' in filter) this.#set({ message: filter.problem })
    else this.#follow(filter)
  }

  #closeSelected(): void {
    const rows = shownRows(this.#state)
    const row = rows[Math.min(this.#state.index, rows.length - 1)]
    if (!row) {
      this.#set({ message: 'no connection to close' })
      return
    }
    const { connection_id, source, target, owner } = row
    const close = async (): Promise<void> => {
      await this.#options.api.call('DELETE /v1/connections/{connection_id}', { path: { connection_id } })
      this.#set({ message: `closed: ${source}` })
    }
    this.#confirm(`Close ${source} to ${target ?? 'no target yet'}, owner ${owner}?`, close)
  }

  async #closeMatching(): Promise<void> {
    const filter = this.#filter
    const text = filterText(filter)
    if (text === '') return this.#set({ message: 'set a filter first: press f' })
    const query = await loadQuery(this.#options.api, filter)
    const { matched } = await this.#options.api.call('DELETE /v1/connections', {
      query: { ...query, dry_run: true }
    })
    if (matched === 0) return this.#set({ message: 'no connections match the filter' })
    this.#confirm(`Close all ${matched} that match ${text}?`, async () => {
      const { closed } = await this.#options.api.call('DELETE /v1/connections', { query })
      this.#set({ message: `${closed} closed` })
    })
  }

  #confirm(question: string, work: () => Promise<void>): void {
    this.#ask({
      question: `${question} [y/N] `,
      text: '',
      done: text => {
        if (/^y(es)?$/i.test(text.trim())) this.#run(work())
        else this.#set({ message: 'nothing closed' })
      }
    })
  }

  /** Shows a refusal in the last line and continues. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      const { errorCode, message } = error as Partial<Fault>
      if (errorCode) this.#set({ message: `${errorCode.code}: ${message}` })
      else this.#end.reject(error)
    })
  }
}
