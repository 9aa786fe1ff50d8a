// Targets with DNS names: the engine caches answers, and asks again when they expire.
import type { EngineEvent, Filters, Resolved } from '../../../agent/engine/engine.ts'
import {
  collect,
  type EngineCase,
  endOf,
  engineFixture,
  noGuards,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  until
} from '../engine-fixture.ts'

const at = (freshMs: number, ...addresses: string[]): Resolved => ({
  ok: true,
  addresses,
  freshMs,
  usableMs: 60_000
})
const questions = (events: readonly EngineEvent[]) => events.filter(({ kind }) => kind === 'resolve')
/** Each thread of an engine has its own cache. */
const maxThreads = 4

/** Opens a rule with targets that answer with their name: 'old' on 127.0.0.1, 'new' on ::1. */
async function oldAndNew(t: Parameters<EngineCase>[0]) {
  const port = await openTarget(t, socket => socket.end('old'))
  await openTarget(t, socket => socket.end('new'), { host: '::1', port })
  return ruleTo([{ host: 'web.test', port }])
}
async function answerOf(t: Parameters<EngineCase>[0], port: number): Promise<string> {
  const caller = await openCaller(t, port)
  const answer = String(await collect(caller))
  caller.end()
  return answer
}

export const targetNames: Record<string, EngineCase> = {
  async 'a fresh answer is used without a lookup'(t, openEngine) {
    const { engine, events } = engineFixture(t, openEngine, {
      names: { 'web.test': at(60_000, '127.0.0.1') }
    })
    const rule = await oldAndNew(t)
    await engine.open(rule)

    for (let caller = 0; caller < 40; caller++) t.equal(await answerOf(t, rule.from), 'old')

    t.ok(questions(events).length <= maxThreads, `${questions(events).length} questions`)
  },

  async 'a stale answer is used until a background lookup replaces it'(t, openEngine) {
    const waiting: number[] = []
    let isHeldUp = false
    const engine = openEngine({
      bind: ['127.0.0.1'],
      onEvents(batch) {
        for (const event of batch)
          if (event.kind === 'resolve' && isHeldUp) waiting.push(event.token)
          else if (event.kind === 'resolve') engine.resolved(event.token, at(1, '127.0.0.1'))
      }
    })
    t.teardown(() => engine.stop())
    const rule = await oldAndNew(t)
    await engine.open(rule)
    for (let caller = 0; caller < 40; caller++) await answerOf(t, rule.from) // each thread has asked

    isHeldUp = true
    for (let caller = 0; caller < 10; caller++) t.equal(await answerOf(t, rule.from), 'old')
    await until(() => waiting.length > 0)

    isHeldUp = false
    for (const token of waiting) engine.resolved(token, at(60_000, '::1'))
    t.ok(waiting.length <= maxThreads, 'each thread asks once')
    let last = ''
    while (last !== 'new') last = await answerOf(t, rule.from)
  },

  async 'callers wait for a lookup when the answer has expired'(t, openEngine) {
    const answers = [{ ...at(0, '127.0.0.1'), usableMs: 1 }, at(0, '::1')]
    const { engine } = engineFixture(t, options => openEngine({ ...options, threads: 1 }), {
      names: {
        get 'web.test'() {
          return answers.shift() ?? at(0, '::1')
        }
      }
    })
    const rule = await oldAndNew(t)
    await engine.open(rule)

    t.equal(await answerOf(t, rule.from), 'old')
    await new Promise(resolve => setTimeout(resolve, 10))
    t.equal(await answerOf(t, rule.from), 'new')
  },

  async 'a negative answer is cached while it is fresh'(t, openEngine) {
    const gone = { ok: false, reason: 'nxdomain', freshMs: 60_000, usableMs: 60_000 } as const
    const { engine, events, counters } = engineFixture(t, openEngine, { names: { 'web.test': gone } })
    const rule = await oldAndNew(t)
    await engine.open(rule)

    for (let caller = 0; caller < 20; caller++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')

    t.ok(questions(events).length <= maxThreads)
    t.equal(counters().dnsFailures, 20)
  },

  async 'the names of a rule do not displace those of another'(t, openEngine) {
    const gone = { ok: false, reason: 'nxdomain', freshMs: 60_000, usableMs: 60_000 } as const
    const names = Array.from({ length: 4_100 }, (_, i) => `n${i}.test`)
    const { engine, events } = engineFixture(t, options => openEngine({ ...options, threads: 1 }), {
      names: {
        ...Object.fromEntries(names.map(name => [name, gone])),
        'web.test': at(60_000, '127.0.0.1')
      }
    })
    const noisy = await ruleTo(names.map(host => ({ host, port: 80 })))
    const rule = { ...(await oldAndNew(t)), id: noisy.id + 1 }
    await engine.open(noisy)
    await engine.open(rule)
    t.equal(await endOf(await openCaller(t, noisy.from)), 'reset')

    for (let caller = 0; caller < 5; caller++) t.equal(await answerOf(t, rule.from), 'old')

    t.equal(questions(events).length, names.length + 1)
  },

  async 'filters check cached addresses at each dial'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine, {
      names: { 'web.test': at(60_000, '127.0.0.1') }
    })
    const rule = await oldAndNew(t)
    await engine.open(rule)
    for (let caller = 0; caller < 20; caller++) await answerOf(t, rule.from)
    await until(() => portCounters(counters()).active === 0)

    const denied: Filters = {
      ...noGuards,
      source: null,
      target: [{ allow: null, deny: [{ cidr: '127.0.0.0/8' }], refusal: 'denied_by_agent' }]
    }
    engine.setFilters(rule.id, denied)

    t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.match(counters().rejected, { denied_by_agent: 1 })
  }
}
