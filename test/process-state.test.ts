// Compares the state that a server stores in memory with the table of docs/PROCESS-STATE.md.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findRetainedState } from './support/find-retained-state.ts'

const root = join(import.meta.dirname, '..')
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const entries = globSync('{kernel/kernel,plugins/*/plugin}.ts', { cwd: root })
const isOfServer = (file: string): boolean =>
  /^(kernel|plugins)\//.test(file) && !/\/(command-exports|commands)\.ts$/.test(file)

/** The files that a server loads. Agent halves and commands run in other processes. */
function filesFrom(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file) || !isOfServer(file)) return known
  known.add(file)
  for (const [, fixed, lazy] of textOf(file).matchAll(imports))
    filesFrom(join(dirname(file), fixed ?? lazy ?? ''), known)
  return known
}
const imports = /(?:import|export)\s(?!type )[^'"();]*?from\s+'(\.[^']+\.ts)'|import\('(\.[^']+\.ts)'\)/g

const rows = textOf('docs/PROCESS-STATE.md')
  .split('\n## ')[0]
  ?.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)

t.test('docs/PROCESS-STATE.md lists all state that a server keeps in memory', async t => {
  const judged = [...(rows ?? [])].flatMap(([, folder, files = '']) =>
    [...files.matchAll(/`([^`]+)` (\d+)/g)].map(([, name, count]) => `${folder}/${name}.ts ${count}`)
  )
  const files = new Set(entries.flatMap(entry => [...filesFrom(entry)]))
  const kept = [...files].flatMap(file => {
    const names = findRetainedState(textOf(file))
    return names.length === 0 ? [] : [`${file} ${names.length}`]
  })

  t.same(judged.sort(), kept.sort(), 'add or remove the row in the table')
})

t.test('finds state that outlives its call, and no other state', async t => {
  const code = `
    let last = 0
    const made = new Map<string, number>([['a', 1]])
    export const next = (): number => ++last
    export class Waits {
      readonly #waiting = new Set<() => void>()
      #isClosed: boolean
      #name = 'a'
      constructor() { this.#isClosed = false }
      close() { this.#isClosed = true }
    }
    export function open(store: Store) {
      const seen = new Map<string, number>()
      const queue: string[] = []
      const none: string[] = []
      const state = { open: new Set<string>() }
      let count = 0
      let limit = 1
      const local = new Set<string>()
      ;['a'].forEach(name => local.add(name))
      return { add: (name: string) => { queue.push(name); count++; return [seen, none, limit, state] } }
    }
    export async function once(names: string[], store: Store, seen: string) {
      let sum = 0
      const found = new Set<string>()
      await store.each(name => { sum += 1; found.add(name) })
      return names.map(name => found.has(name) && made.get(seen))
    }`

  t.same(findRetainedState(code).sort(), [
    'count',
    'last',
    'queue',
    'seen',
    'state',
    'this.isClosed',
    'this.waiting'
  ])
})
