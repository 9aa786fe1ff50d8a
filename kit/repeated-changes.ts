// Runs the body of each change twice, like a store may: rolled back, then committed. Different results are not repeatable.
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
  readonly wrapStore: (opened: Database) => Database
  /** The findings: each with its place, the difference, and the remedy. No duplicates. */
  readonly problems: () => readonly string[]
  readonly close: () => void
}

interface Options {
  /** Names the change by its requester; null: it runs once, as usual. Default: changes with code of third parties. */
  readonly placeOf?: (callers: readonly Caller[]) => string | null
  /** Receives each problem as soon as it is found. */
  readonly tell?: (problem: string) => void
}

/** Findings do not affect the changes. */
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
    wrapStore: opened => ({ ...opened, change: work => change(opened, work) }),
    problems: () => [...found],
    close() {
      for (const channel of connections) unsubscribe(channel, connecting)
      unsubscribe(logged.name, logging)
    }
  }
}

/** Event names in logs of tests. */
export const logged = channel('sluice.test.logged')

/** Types of Node's resources: client sockets, and requests of `http` and `fetch`, which may use an open connection. */
const connections = ['net.client.socket', 'http.client.request.start', 'undici:request:create']

/** Runs the work and rolls it back. The transaction stays open, so that no other change runs before the second run. */
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
  const at = differenceIn(first.result, second.result, '')?.replace(/^\/result/, '') // the host adds fields to the result
  return [
    ...(first.rows === second.rows
      ? []
      : [`rows written: ${first.rows} the first time, ${second.rows} the second`]),
    ...(at === undefined ? [] : [`the second time it returns another result${at === '' ? '' : `, at ${at}`}`])
  ]
}

const maxDepth = 5

/**
 * Returns the path where two results differ: '' for the whole. Ids, secrets and times differ in every run, so long texts
 * of one length count as equal, and so do large numbers.
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

/** True for lists, plain objects and entities; false for Maps, dates and bytes, which keep their content outside keys. */
const isData = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.toStringTag in value === false &&
  !(value instanceof Date)

/** A stack frame with a file. */
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
const own = ['kernel', 'kit', 'plugins', 'agent', 'config'].map(folder => root + folder + sep)
const isOwn = ({ file }: Caller): boolean =>
  file.includes(`${sep}node_modules${sep}`) || own.some(folder => file.startsWith(folder))
/** `change` for a route's call, and `act`: their bodies call hooks of other plugins. */
const sharedChange =
  /at (?:async )?change \(.*[/\\]plugins[/\\]http[/\\](?:pipeline[/\\]route-handler|change[/\\]act-without-request)\.[jt]s/

/**
 * Returns the line of the plugin's file that makes the change, or the name of the built-in plugin that owns the route. Null
 * for internal changes of built-in plugins, which run no code of another plugin.
 */
function placeOfStranger(callers: readonly Caller[]): string | null {
  const outside = callers.find(caller => !isOwn(caller))
  if (outside) return `${outside.file}:${outside.line}`
  const plugin = runningPlugin()
  if (plugin !== undefined && !index.plugins.includes(plugin)) return plugin
  const isShared = callers.some(({ text }) => sharedChange.test(text))
  return isShared ? `${plugin ?? 'sluice'}, or a hook that it calls` : null
}
