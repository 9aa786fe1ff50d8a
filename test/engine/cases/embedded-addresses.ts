// IPv6 addresses that lead to an IPv4 address pass a filter only if both addresses do.
import type { Test } from 'tap'
import type { Engine, EngineRule, Filter } from '../../../agent/engine/engine.ts'
import { freePort } from '../../support/ports.ts'
import { embeddedAddresses } from '../embedded-addresses.ts'
import {
  type EngineCase,
  endOf,
  engineFixture,
  exchange,
  noGuards,
  openCaller,
  openEchoRule,
  openTarget,
  ruleTo,
  until
} from '../engine-fixture.ts'
import { proxyFirstRead } from './first-read.ts'

const filter = (
  refusal: string,
  deny: readonly string[],
  allow: readonly string[] | null = null
): Filter => ({
  allow: allow?.map(cidr => ({ cidr })) ?? null,
  deny: deny.map(cidr => ({ cidr })),
  refusal
})
/** The last filter: nothing is dialed. */
const all = filter('literal', ['::/0', '0.0.0.0/0'])

interface Opened {
  readonly t: Test
  readonly engine: Engine
}

/** Returns the refusals of one caller. */
async function refusalsOf(
  { t, engine }: Opened,
  rule: EngineRule,
  header = ''
): Promise<Record<string, number>> {
  await engine.open(rule)
  const caller = await openCaller(t, rule.from)
  caller.write(header)
  await endOf(caller)
  caller.end()
  const own = () => engine.sample().rules.find(({ ruleId }) => ruleId === rule.id)
  await until(() => own()?.ports.every(({ active }) => active === 0) ?? false)
  const rejected = { ...own()?.rejected }
  await engine.close(rule.id, 0)
  return rejected
}

export const embedded: Record<string, EngineCase> = {
  async 'a denied IPv4 address is denied in each IPv6 form'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const [host, ipv4] of embeddedAddresses) {
      const target = [filter('embedded', [ipv4 ?? '0.0.0.0/0']), all]
      const rule = await ruleTo([{ host, port: 80 }], { target })
      t.same(await refusalsOf({ t, engine }, rule), { [ipv4 === null ? 'literal' : 'embedded']: 1 }, host)
    }
  },

  async 'an allow list must have the IPv6 address and the IPv4 address in it'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const [allow, refusal] of [
      [['64:ff9b::/96'], 'listed'],
      [['10.0.0.0/8'], 'listed'],
      [['64:ff9b::/96', '10.0.0.0/8'], 'literal']
    ] as const) {
      const target = [filter('listed', [], allow), all]
      const rule = await ruleTo([{ host: '64:ff9b::a00:1', port: 80 }], { target })
      t.same(await refusalsOf({ t, engine }, rule), { [refusal]: 1 }, allow.join())
    }
  },

  async 'an own listener is not dialed through a translator'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    for (const host of ['64:ff9b::7f00:1', '2002:7f00:1::1']) {
      const from = await freePort()
      t.same(
        await refusalsOf({ t, engine }, await ruleTo([{ host, port: from }], { from })),
        { loop: 1 },
        host
      )
    }
  },

  async 'a denied port of this machine is denied on each of its addresses'(t, openEngine) {
    const port = await openTarget(t, socket => socket.end('served'))
    const names = { 'own.test': { ok: true, addresses: ['127.0.0.1'] } } as const
    const { engine } = engineFixture(t, openEngine, { names })
    const own = (denied: number): Filter => ({
      allow: null,
      deny: [{ isOwn: true, ports: [denied, denied] }],
      refusal: 'own'
    })

    for (const host of ['127.0.0.1', '127.9.9.9', '::1', '0.0.0.0', '::', '64:ff9b::7f00:1', 'own.test'])
      t.same(
        await refusalsOf({ t, engine }, await ruleTo([{ host, port }], { target: [own(port)] })),
        { own: 1 },
        host
      )
    const free = await ruleTo([{ host: 'own.test', port }], { target: [own(port === 1 ? 2 : 1)] })
    t.same(await refusalsOf({ t, engine }, free), {})
    const remote = await ruleTo([{ host: '198.51.100.1', port }], { target: [own(port), all] })
    t.same(await refusalsOf({ t, engine }, remote), { literal: 1 })
  },

  async 'a caller behind a translator is judged by its IPv4 address as well'(t, openEngine) {
    const { engine } = engineFixture(t, openEngine)
    const header = 'PROXY TCP6 64:ff9b::cb00:7105 ::1 1000 80\r\n'
    const port = await openTarget(t, socket => socket.end('served'))
    const outcome = async (changes: Partial<EngineRule>) =>
      refusalsOf(
        { t, engine },
        await ruleTo([port], { ...noGuards, firstRead: proxyFirstRead, ...changes }),
        header
      )
    engine.changeAddresses('bans', { add: ['203.0.113.5'], remove: [] })
    engine.changeAddresses('translated', { add: ['64:ff9b::/96'], remove: [] })
    const guard = (allow: string[] | null, deny: string[]) =>
      ({ addressGuards: [{ allow, deny, live: 'reset', refusal: 'guarded' }] }) as const

    t.same(await outcome({ source: filter('denied', ['203.0.113.0/24']) }), { denied: 1 })
    t.same(await outcome({ source: filter('denied', [], ['64:ff9b::/96']) }), { denied: 1 })
    t.same(await outcome({ source: filter('denied', ['203.0.113.6']) }), {})
    t.same(await outcome(guard(null, ['bans'])), { guarded: 1 })
    t.same(await outcome(guard(['translated'], [])), { guarded: 1 })
    t.same(await outcome(guard(['translated', 'bans'], [])), {})
  },

  async 'callers behind a translator are separate sources'(t, openEngine) {
    const { engine, counters } = engineFixture(t, openEngine)
    const limit = { name: 'one', of: 'open', max: 1, perMs: 60_000, refusal: 'source_limit' } as const
    const rule = await openEchoRule(t, engine, { firstRead: proxyFirstRead, sourceLimits: [limit] })
    const call = (source: string, family: 'TCP4' | 'TCP6') =>
      openCaller(t, rule.from).then(caller => ({
        caller,
        header: `PROXY ${family} ${source} ${family === 'TCP4' ? '127.0.0.1' : '::1'} 1000 80\r\nhello`
      }))

    for (const source of ['64:ff9b::cb00:7105', '64:ff9b::cb00:7106']) {
      const { caller, header } = await call(source, 'TCP6')
      t.equal(await exchange(caller, header), 'hello', source)
    }
    const { caller, header } = await call('203.0.113.5', 'TCP4')
    caller.write(header)
    t.equal(await endOf(caller), 'reset')
    t.match(counters().rejected, { source_limit: 1 })
  }
}
