// Runs the body of each change twice, as a store may: undone, then for good. What differs is not repeatable.
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { EntityManager } from '@mikro-orm/sql'
import { index } from '../config/command-index.ts'
import { attributionOf, runningPlugin } from '../kernel/base/attribution.ts'
import { reasonOf } from '../kernel/base/errors.ts'
import type { Work } from '../kernel/http/route.ts'
import type { Database } from '../kernel/store/open.ts'
import { rowsWritten as writtenToPostgres } from '../kernel/store/postgres/dialect.ts'
import { storeFileOf } from '../kernel/store/sql/database.ts'
import { rowsWritten as writtenToSqlite } from '../kernel/store/sqlite/dialect.ts'

/** The result of a body, and the number of rows that it has written. */
interface Run<T> {
  readonly result: T
  readonly rows: number
}

export interface RepeatedChanges {
  readonly storeOf: (opened: Database) => Database
  /** What is not repeatable: each with its place, what was seen, and the remedy. Nothing is there twice. */
  readonly problems: () => readonly string[]
  readonly close: () => void
}

interface Options {
  /** Names the change by who has asked for it; null: it runs once, as it would. Default: those with code of strangers. */
  readonly placeOf?: (callers: readonly Caller[]) => string | null
  /** Takes each problem as soon as it is found. */
  readonly tell?: (problem: string) => void
}

/** Changes go on as they would, whatever is found. */
export function openRepeatedChanges({
  placeOf = placeOfStranger,
  tell = () => {}
}: Options = {}): RepeatedChanges {
  const found = new Set<string>()
  const bodies = new AsyncLocalStorage<{ readonly place: string }>()
  const report = (place: string, seen: string) => {
    const problem =
      `${place}: this change is not repeatable, and a store may run its body again: ${seen}. Keep to \`em\` in the body; ` +
      'do all else after `change` has returned'
    if (!found.has(problem)) tell(problem)
    found.add(problem)
  }

  const connecting = () => {
    const body = bodies.getStore()
    if (body) report(body.place, 'it opens a connection, or sends a request')
  }
  const logging = (event: unknown) => {
    const body = bodies.getStore()
    if (body) report(body.place, `it logs ${event}`)
  }
  for (const channel of connections) subscribe(channel, connecting)
  subscribe(logged.name, logging)

  async function change<T>(opened: Database, work: Work<T>): Promise<T> {
    const place = placeOf(callers())
    if (place === null) return opened.change(work)
    const counted = (em: EntityManager) => bodies.run({ place }, () => countRows(em, work))
    return opened.change(async em => {
      const first = await undone(em, counted)
      const second = await counted(em).catch((error: unknown) => {
        const by = attributionOf(error)
        const where = by ? `${by.filled_by}, in ${by.slot}` : place
        report(where, `the second time it throws "${reasonOf(error)}"`)
        throw error
      })
      for (const seen of differences(first, second)) report(place, seen)
      return second.result
    })
  }

  return {
    storeOf: opened => ({ ...opened, change: work => change(opened, work) }),
    problems: () => [...found],
    close() {
      for (const channel of connections) unsubscribe(channel, connecting)
      unsubscribe(logged.name, logging)
    }
  }
}

/** Of logs of tests: the names of events. */
export const logged = channel('sluice.test.logged')

/** Of Node: sockets of clients, and requests of `http` and of `fetch`, which may go over an open connection. */
const connections = ['net.client.socket', 'http.client.request.start', 'undici:request:create']

/** Runs the work and undoes it. The transaction goes on, so that no other change comes between this run and the next. */
async function undone<T>(em: EntityManager, work: Work<T>): Promise<T> {
  const done: { result: T }[] = []
  const back = new Error('undone')
  try {
    await em.transactional(async inner => {
      done.push({ result: await work(inner) })
      throw back // to the savepoint
    })
  } catch (error) {
    if (error !== back) throw error
  }
  const [first] = done
  if (!first) throw new TypeError('the savepoint was not undone')
  return first.result
}

const rowsWritten = async (em: EntityManager): Promise<number> =>
  storeFileOf(em) === null ? writtenToPostgres(em) : writtenToSqlite(em)

async function countRows<T>(em: EntityManager, work: Work<T>): Promise<Run<T>> {
  const before = await rowsWritten(em)
  const result = await work(em)
  await em.flush()
  return { result, rows: (await rowsWritten(em)) - before }
}

function differences<T>(first: Run<T>, second: Run<T>): string[] {
  const at = differenceIn(first.result, second.result, '')?.replace(/^\/result/, '') // the host adds its own to the result
  return [
    ...(first.rows === second.rows
      ? []
      : [`rows written: ${first.rows} the first time, ${second.rows} the second`]),
    ...(at === undefined ? [] : [`the second time it returns another result${at === '' ? '' : `, at ${at}`}`])
  ]
}

const maxDepth = 5

/**
 * Returns where two results differ: '' for the whole. Ids, secrets and times do so in every run: long texts of one length
 * are alike, and large numbers.
 */
function differenceIn(one: unknown, other: unknown, at: string, depth = 0): string | null {
  if (Object.is(one, other) || depth > maxDepth) return null
  if (typeof one === 'string' && typeof other === 'string')
    return one.length >= 16 && one.length === other.length ? null : at
  if (typeof one === 'number' && typeof other === 'number') return one > 1e9 && other > 1e9 ? null : at
  if (!isData(one) || !isData(other)) return typeof one === typeof other ? null : at
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  const found = [...keys].map(key =>
    differenceIn(Reflect.get(one, key), Reflect.get(other, key), `${at}/${key}`, depth + 1)
  )
  return found.find(difference => difference !== null) ?? null
}

/** True for lists, plain objects and entities; not for Maps, dates and bytes, whose content is not in their keys. */
const isData = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.toStringTag in value === false &&
  !(value instanceof Date)

/** A line of a stack, of a file. */
export interface Caller {
  readonly text: string
  readonly file: string
  readonly line: string
}

const lineOfFile = /(?:\(|at |file:\/\/)(\/[^()?\n]+?)(?:\?[^:\n]*)?:(\d+):\d+\)?$/

/** The innermost first. */
function callers(): Caller[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('here')
  Error.stackTraceLimit = stackTraceLimit
  return stack.split('\n').flatMap(text => {
    const [, file, line = ''] = lineOfFile.exec(text) ?? []
    return file === undefined ? [] : { text, file, line }
  })
}

const root = fileURLToPath(new URL('..', import.meta.url))
const own = ['kernel', 'kit', 'plugins', 'agent', 'platform', 'config'].map(folder => root + folder + sep)
const isOwn = ({ file }: Caller): boolean =>
  file.includes(`${sep}node_modules${sep}`) || own.some(folder => file.startsWith(folder))
/** `change` of a route's call, and of `act`: their bodies call hooks of other plugins. */
const sharedChange =
  /at (?:async )?change \(.*[/\\]plugins[/\\]http[/\\](?:pipeline[/\\]request-decisions|change[/\\]act-without-request)\.[jt]s/

/**
 * Returns the line of the plugin's file that makes the change, or the name of the built-in plugin whose route does. Null for
 * changes that built-in plugins make for themselves: no body of another plugin is in them.
 */
function placeOfStranger(callers: readonly Caller[]): string | null {
  const outside = callers.find(caller => !isOwn(caller))
  if (outside) return `${outside.file}:${outside.line}`
  const plugin = runningPlugin()
  if (plugin !== undefined && !index.plugins.includes(plugin)) return plugin
  const isShared = callers.some(({ text }) => sharedChange.test(text))
  return isShared ? `${plugin ?? 'sluice'}, or a hook that it calls` : null
}
