// Findings for an agent that cannot reach its server or open its rules.
import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openObjectStore } from '../../../agent/objects/object-store.ts'
import { openStateDatabase } from '../../../agent/state/state-database.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { testServer } from '../../../kit/test-server.ts'
import { openDns } from '../../../test/support/dns.ts'
import { start } from '../../../test/support/process.ts'
import { RulePush } from '../../rules/wire.ts'
import { expectFound, hostWithFiles, idsOf, makeBundle, runCheck, stateDir } from './provoke-findings.ts'

const doctor = (dir: string) => ['agent', 'doctor', '--state-dir', dir]

t.test('an unreachable server, a wrong pin, a revoked agent and an invalid bundle are found', async t => {
  const { server } = await testServer(t)
  const server_endpoint = `127.0.0.1:${server.depsOf('clients').control.port()}`
  const other = stateDir(t, makeBundle({ server_endpoint }))

  await expectFound(
    t,
    doctor(other),
    {},
    { 'agent.not_running': /no process uses/, 'agent.pin': /fingerprint/ }
  )
  writeFileSync(join(other, 'bundle.json'), makeBundle())
  await expectFound(t, doctor(other), {}, { 'agent.unreachable_server': /ECONNREFUSED/ })
  const agent = async (dir: string) => idsOf(await runCheck('agent', {}, { dir, role: 'agent' }))
  writeFileSync(join(other, 'bundle.json'), makeBundle({ revoked_at: 'today' }))
  t.same(await agent(other), ['agent.revoked'])
  writeFileSync(join(other, 'bundle.json'), '{}')
  t.same(await agent(other), ['agent.bundle'])
})

t.test("an agent on its server's host that does not deny the server's ports is found", async t => {
  const check = async (server_endpoint: string, deny_local_ports: number[] = []) => {
    const dir = stateDir(t, makeBundle({ server_endpoint }))
    return idsOf(await runCheck('guardrails', {}, { dir, role: 'agent', keys: { deny_local_ports } }))
  }

  t.same(await check('127.0.0.1:7443'), ['guardrails.server_ports'])
  t.same(await check('[::1]:7443'), ['guardrails.server_ports'])
  t.same(await check('localhost:7443'), ['guardrails.server_ports'])
  t.same(await check('127.0.0.1:7443', [7080, 7081, 7443]), [])
  t.same(await check('192.0.2.1:7443'), [])
  t.same(await check('nowhere.invalid:7443'), [])
})

t.test('a missing enrollment, a foreign bind address and a damaged journal are found', async t => {
  const dir = stateDir(t, null)
  writeFileSync(join(dir, 'agent.toml'), 'bind = ["192.0.2.9"]\n', { mode: 0o600 })
  writeFileSync(join(dir, 'state.db'), 'not a database: the header is not that of SQLite', {
    mode: 0o600
  })

  await expectFound(
    t,
    [...doctor(dir), '--config', join(dir, 'agent.toml')],
    {},
    {
      'agent.not_enrolled': /bundle\.json/,
      'bind.address': /192\.0\.2\.9/,
      'journal.damaged': /not a database/
    }
  )
})

function saveRule(dir: string, port: number): void {
  const db = openStateDatabase(dir)
  const rule: RulePush = {
    rule_id: '01',
    revision: 1,
    owner: 'ann',
    protocol: 'tcp',
    fields: {},
    listen_from: port,
    listen_to: port,
    prefer_ipv6: false,
    retry: true,
    targets: [{ host: 'db.invalid', port: 1, priority: 0 }]
  }
  const bytes = Uint8Array.from(openCodec([RulePush]).encode(RulePush, rule))
  openObjectStore(db).save({ kind: 'rule', id: '01', revision: 1, bytes })
  db.close()
}

t.test('a running agent reports why it is not connected and which rule it cannot open', async t => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-')) // the path of a socket must be short
  t.teardown(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'bundle.json'), makeBundle(), { mode: 0o600 })
  saveRule(dir, (holder.address() as AddressInfo).port)
  const agent = start(t, ['agent', 'run', '--state-dir', dir], { SVC_LOG_FORMAT: 'json' })
  await agent.until('control.unreachable')

  await expectFound(
    t,
    doctor(dir),
    {},
    { 'agent.not_connected': /ECONNREFUSED/, 'agent.not_in_force': /rule 01/ }
  )
})

t.test('ports of saved rules that need a capability or may be taken are found', async t => {
  const dir = stateDir(t, null)
  saveRule(dir, 81)
  const host = hostWithFiles({
    '/proc/self/status': 'CapEff:\t0000000000000000\n',
    '/proc/sys/net/ipv4/ip_local_port_range': '80 90'
  })

  const found = await runCheck('rule_ports', host, { dir, role: 'agent' })

  t.same(idsOf(found), ['rule_ports.outgoing', 'rule_ports.privileged'])
})

t.test('missing and silent name servers and names without an address are found', async t => {
  const dir = stateDir(t, null)
  saveRule(dir, 80)
  const { address } = await openDns(t, { 'db.invalid': 'SERVFAIL' }, 60)
  const resolver = async (...servers: string[]) =>
    idsOf(await runCheck('resolver', { nameServers: () => servers }, { dir, role: 'agent' }))

  t.same(await resolver(), ['resolver.none'])
  t.same(await resolver('127.0.0.1:1'), ['resolver.silent'])
  t.same(await resolver(address), ['resolver.name'])
  const good = await openDns(t, { 'db.invalid': ['127.0.0.1'] }, 60)
  t.same(await resolver(good.address), [])
})

t.test('names are looked up as the agent does: in the search domains of the host', async t => {
  const dir = stateDir(t, null)
  saveRule(dir, 80)
  const { address } = await openDns(t, { 'db.invalid.corp.test': ['127.0.0.1'] }, 60)
  const host = hostWithFiles({ '/etc/resolv.conf': 'search corp.test\noptions ndots:2\n' })

  const found = await runCheck('resolver', { ...host, nameServers: () => [address] }, { dir, role: 'agent' })

  t.same(idsOf(found), [])
})

t.test('a large journal is found', async t => {
  const dir = stateDir(t, null)
  saveRule(dir, 80)
  truncateSync(join(dir, 'state.db'), 2 ** 30 + 4096)

  t.same(idsOf(await runCheck('journal', {}, { dir, role: 'agent' })), ['journal.large'])
})
