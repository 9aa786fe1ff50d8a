// Sends the worst bodies of each route's schema. The work for a refused body is linear in its size, and it is never a 500.
import t from 'tap'
import type { TSchema } from 'typebox'
import { plugins as builtin } from '../config/plugins.ts'
import type { Route } from '../kernel/http/route.ts'
import type { Kernel } from '../kernel/plugin.ts'
import { testServer } from '../kit/test-server.ts'
import { bodyLimitOf } from '../plugins/http/request/body-limit.ts'
import { violationsOf } from '../plugins/http/request/violations.ts'
import { type JsonSchema, type WorstBody, worstBodies } from './support/worst-bodies.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const routes = plugins.flatMap(({ name, routes = [] }) => routes.map(route => ({ plugin: name, route })))
const names = Object.keys(builtin).filter(name => name !== 'process') // it needs a real clock

interface Target {
  readonly name: string
  readonly url: string
  readonly route: Route<Kernel>
  readonly schema: TSchema | undefined
  readonly bodies: readonly WorstBody[]
}

const withIds = (url: string): string => url.replaceAll(/:\w+/g, '01KCD3F0P7Q4Y6Z8V1T5S9R2NA')

const maxBytes = 4096

/** Takes at most `most` of the bodies, spread evenly. The script `npm run bench:bodies` sends all of them. */
const sample = <T>(bodies: readonly T[], most: number): T[] => {
  const step = Math.ceil(bodies.length / most)
  return bodies.filter((_, at) => at % step === 0)
}

async function targetsOf(t: Parameters<typeof testServer>[0]) {
  const app = await testServer(t, { plugins: names })
  const targets = routes
    .filter(({ plugin, route }) => route.method !== 'GET' && names.includes(plugin))
    .map(({ plugin, route }): Target => {
      const deps = app.server.depsOf(plugin) as Kernel
      const schema = route.schema(deps.filled).body
      const bytes = Math.min(bodyLimitOf(route), maxBytes)
      const bodies = worstBodies((schema ?? { type: 'object' }) as JsonSchema, bytes)
      return { name: `${route.method} ${route.url}`, url: withIds(route.url), route, schema, bodies }
    })
  return { app, targets }
}

t.test('no body of any route is a 500, and a refusal lists at most 16 errors', async t => {
  const { app, targets } = await targetsOf(t)

  const wrong: string[] = []
  for (const { name, url, route, bodies } of targets)
    for (const { name: what, text } of sample(bodies, 20)) {
      const type = route.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const reply = await app.call(route.method, url, text, { 'content-type': type })
      const { error } = (reply.body ?? {}) as { error?: { details?: { errors?: readonly unknown[] } } }
      if (reply.status >= 500 || (error?.details?.errors ?? []).length > 16)
        wrong.push(`${name} ${what}: ${reply.status} ${reply.text.slice(0, 200)}`)
    }

  t.same(wrong, [])
  t.same(
    app.log.filter(({ event }) => event === 'request.failed'),
    []
  )
})

t.test('each part of a refused body is read a few times at most', async t => {
  const { targets } = await targetsOf(t)

  const wrong: string[] = []
  let judged = 0
  for (const { name, schema, bodies } of targets)
    for (const { name: what, text } of sample(bodies, 60)) {
      const value = schema && parsed(text)
      if (value === undefined) continue
      judged++
      const { proxy, reads } = counted(value)
      const found = violationsOf(schema as TSchema, proxy)
      if (found.length > 16 || reads() > 8 * text.length)
        wrong.push(`${name} ${what}: ${found.length} violations, ${reads()} reads of ${text.length} bytes`)
    }

  t.same(wrong, [])
  t.ok(judged > 500, `${judged} bodies`)
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Counts the reads of members and elements, at all levels. */
function counted(value: unknown): { readonly proxy: unknown; readonly reads: () => number } {
  let reads = 0
  const proxies = new WeakMap<object, object>()
  const wrap = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    const known = proxies.get(part) ?? new Proxy(part, handler)
    proxies.set(part, known)
    return known
  }
  const handler: ProxyHandler<object> = {
    get(target, key) {
      reads++
      return wrap(Reflect.get(target, key))
    },
    ownKeys(target) {
      const keys = Reflect.ownKeys(target)
      reads += keys.length
      return keys
    }
  }
  return { proxy: wrap(value), reads: () => reads }
}
