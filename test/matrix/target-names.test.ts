// Targets with host names, resolved by the agent's own resolver through a real DNS server.
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type EngineName, selectEngine } from '../../agent/engine/select-engine.ts'
import { dnsLookup } from '../../agent/resolver/dns-lookup.ts'
import { openResolver } from '../../agent/resolver/resolver.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import {
  type EngineFixture,
  echo,
  endOf,
  engineFixture,
  exchange,
  openCaller,
  openTarget,
  openUnresponsiveTarget,
  ruleTo,
  until
} from '../engine/engine-fixture.ts'
import { openDns, type Zone } from '../support/dns.ts'
import { engines } from './world.ts'

const ttlSecs = 1 // the resolver's minimum

const ownerOf = (host: string): string => host.split('.').at(-2) ?? ''

/**
 * Opens an engine with a resolver for a DNS server, which serves the current content of `zone`. The owner of a rule is the
 * last label but one of its names.
 */
async function fixtureWithDns(
  t: Test,
  engine: EngineName,
  zone: Zone,
  resolvConf = ''
): Promise<EngineFixture> {
  const dns = await openDns(t, zone, ttlSecs)
  const dir = t.testdir({ 'resolv.conf': resolvConf })
  const resolver = openResolver({
    clock: systemClock,
    lookup: dnsLookup([dns.address]),
    resolvConf: join(dir, 'resolv.conf')
  })
  const { open } = selectEngine(engine)
  const opened = engineFixture(t, options => {
    const engine = open({
      ...options,
      onEvents(batch) {
        options.onEvents(batch)
        for (const event of batch)
          if (event.kind === 'resolve')
            void resolver
              .resolve(event.host, ownerOf(event.host))
              .then(found => engine.resolved(event.token, found))
      }
    })
    return engine
  })
  return opened
}

for (const engine of engines) {
  t.test(`${engine}: an unreachable AAAA address delays the A address only briefly`, async t => {
    const silent = await openUnresponsiveTarget(t, '::1')
    await openTarget(t, echo, { port: silent })
    const refusing = await openTarget(t, echo) // on 127.0.0.1 only
    const zone = { 'half.test': ['::1', '127.0.0.1'] }
    const { engine: opened, counters } = await fixtureWithDns(t, engine, zone)

    for (const port of [silent, refusing]) {
      const rule = await ruleTo([{ host: 'half.test', port }], { preferIpv6: true })
      await opened.open(rule)
      t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    }

    t.match(counters(), { dnsFailures: 0, targetFailovers: 0, targets: [{ health: 'healthy' }] })
  })

  t.test(`${engine}: a caller gets the next target if a name cannot be resolved`, async t => {
    const { engine: opened, counters } = await fixtureWithDns(t, engine, { 'broken.test': 'SERVFAIL' })
    const port = await openTarget(t, echo)
    const targets = ['gone.test', 'broken.test', '127.0.0.1'].map(host => ({ host, port }))
    const rule = await ruleTo(targets)
    await opened.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    t.match(counters(), { dnsFailures: 2, targetFailovers: 1, connectionsTotal: 1 })
  })

  t.test(`${engine}: new connections follow a changed address, open ones continue`, async t => {
    const zone: Record<string, string[]> = { 'moves.test': ['127.0.0.2'] }
    const { engine: opened } = await fixtureWithDns(t, engine, zone)
    const answerWith = (name: string) => (socket: Parameters<typeof echo>[0]) =>
      void socket.on('data', () => socket.write(name))
    const port = await openTarget(t, answerWith('old'), { host: '127.0.0.2' })
    await openTarget(t, answerWith('new'), { host: '127.0.0.3', port })
    const rule = await ruleTo([{ host: 'moves.test', port }])
    await opened.open(rule)
    const early = await openCaller(t, rule.from)
    t.equal(await exchange(early, 'who?'), 'old')

    zone['moves.test'] = ['127.0.0.3']
    await after(ttlSecs * 1000)

    t.equal(await exchange(await openCaller(t, rule.from), 'who?'), 'new')
    t.equal(await exchange(early, 'still?'), 'old')
  })

  t.test(`${engine}: filters judge the addresses of the name that a search domain leads to`, async t => {
    const zone = { 'db.corp.test': ['127.0.0.2'] }
    const { engine: opened, counters } = await fixtureWithDns(t, engine, zone, 'search corp.test')
    const port = await openTarget(t, echo, { host: '127.0.0.2' })
    const rule = await ruleTo([{ host: 'db', port }])
    await opened.open(rule)
    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
    await opened.close(rule.id, 0)
    await until(() => opened.sample().rules.length === 0)

    const deny = [{ cidr: '127.0.0.2' }]
    const denied = await ruleTo([{ host: 'db', port }], {
      target: [{ allow: null, deny, refusal: 'denied_by_agent' }]
    })
    await opened.open(denied)

    t.equal(await endOf(await openCaller(t, denied.from)), 'reset')
    t.match(counters(), { rejected: { denied_by_agent: 1 } })
  })

  t.test(`${engine}: callers connect while AAAA gets NXDOMAIN and A no answer any more`, async t => {
    const zone: Record<string, readonly string[] | 'SILENT'> = { 'half.test': ['127.0.0.1'] }
    const { engine: opened, counters } = await fixtureWithDns(t, engine, zone)
    const port = await openTarget(t, echo)
    const rule = await ruleTo([{ host: 'half.test', port }])
    await opened.open(rule)
    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    zone['half.test A'] = 'SILENT'
    delete zone['half.test']
    await after(ttlSecs * 1000)

    for (let i = 0; i < 3; i++) {
      t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
      await after(ttlSecs * 1000)
    }
    t.match(counters(), { dnsFailures: 0 })
  })

  t.test(`${engine}: a rule works again once its missing name exists`, async t => {
    const zone: Record<string, string[]> = {}
    const { engine: opened, counters } = await fixtureWithDns(t, engine, zone)
    const port = await openTarget(t, echo)
    const rule = await ruleTo([{ host: 'late.test', port }])
    await opened.open(rule)
    for (let i = 0; i < 5; i++) t.equal(await endOf(await openCaller(t, rule.from)), 'reset')
    t.equal(counters().dnsFailures, 5)

    zone['late.test'] = ['127.0.0.1']
    await after(3_000) // how long a failed lookup is cached

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')
  })

  t.test(`${engine}: callers of one owner connect while another's names get no answer`, async t => {
    const port = await openTarget(t, echo)
    const dead = Array.from({ length: 80 }, (_, i) => `n${i}.ann.test`)
    const silent = Object.fromEntries(dead.map(name => [name, 'SILENT'] as const))
    const { engine: opened, events } = await fixtureWithDns(t, engine, {
      ...silent,
      'web.bob.test': ['127.0.0.1']
    })
    for (const host of dead) {
      const rule = await ruleTo([{ host, port }])
      await opened.open(rule)
      await openCaller(t, rule.from)
    }
    await until(() => events.filter(({ kind }) => kind === 'resolve').length === dead.length)
    const rule = await ruleTo([{ host: 'web.bob.test', port }])
    await opened.open(rule)

    t.equal(await exchange(await openCaller(t, rule.from), 'hello'), 'hello')

    const counters = opened.sample().rules.find(({ ruleId }) => ruleId === rule.id)
    t.match(counters, { dnsFailures: 0, targets: [{ health: 'healthy' }] })
  })
}
