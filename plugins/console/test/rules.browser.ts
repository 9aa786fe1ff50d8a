// Pages of rules, connections and clients, in Chromium with a real server, agent and traffic.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { axeFindings, completeSetup, freePort, openPage, signIn, skipReason, startServer } from './browser.ts'

const bin = new URL('../../../kernel/bin.ts', import.meta.url).pathname

async function start(t: Test) {
  const data = `${t.testdir()}/data`
  const server = await startServer(data)
  t.teardown(server.kill)
  const { page, errors, close } = await openPage()
  t.teardown(close)
  await completeSetup(page, server.link)
  const token = readFileSync(`${data}/operator-token`, 'utf8').trim()
  const api = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(`${server.origin}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return response.status === 204 ? {} : ((await response.json()) as Record<string, string>)
  }
  /** Expects no axe findings in both themes. */
  const checkAxe = async (what: string, seen: Page = page): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await seen.emulateMedia({ colorScheme })
      t.same(await axeFindings(seen), [], `${what}, ${colorScheme}`)
    }
  }
  return { ...server, data, page, errors, api, checkAxe }
}

/** Starts an echo target. */
async function openEcho(t: Test): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy()) // a connection that the test cuts
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Opens a connection that has echoed some bytes and stays open. */
async function talk(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.write(Buffer.alloc(100_000))
  await once(socket, 'data')
  socket.resume()
  return socket
}

const submit = (page: Page) => page.getByRole('button', { name: 'Create rule' }).click()
const section = (page: Page, name: string) => page.locator('summary', { hasText: name }).click()
const shown = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

t.test(
  'the form creates each kind of rule and shows an error at its field',
  { skip: skipReason },
  async t => {
    const { page, origin, checkAxe, errors, api } = await start(t)
    const target = await openEcho(t)
    const begin = async (port: number, targetPort = target): Promise<void> => {
      await page.goto(`${origin}/rules/new`)
      await page.getByLabel('Listen port').fill(String(port))
      await page.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
      await page.getByLabel('Target port', { exact: true }).fill(String(targetPort))
    }

    // several weighted targets, labels, limits and hours
    const plain = await freePort()
    await begin(plain)
    await page.getByRole('button', { name: 'Add target' }).click()
    await page.getByLabel('Target host 2').fill('127.0.0.1')
    await page.getByLabel('Target port 2').fill(String(await freePort()))
    await section(page, 'Load balancing and health')
    await page.getByLabel('Load balancing', { exact: true }).selectOption('weighted')
    await page.getByLabel('Weight 2').fill('3')
    await section(page, 'Limits')
    await page.getByLabel('Bandwidth out').fill('5 apples')
    await page.getByText('Write a number with a unit, such as 50 Mbit/s').waitFor()
    await page.getByLabel('Bandwidth out').fill('50 Mbit/s')
    await section(page, 'Schedule')
    await page.getByRole('button', { name: 'Add hours' }).click()
    await page.getByRole('button', { name: 'Mo', exact: true }).click()
    await page.getByLabel('From 1').fill('25:00')
    await section(page, 'Labels and owner')
    await page.getByLabel('Labels', { exact: true }).fill('env=prod\ntier=web')
    await checkAxe('the rule form')
    await submit(page)
    await page.getByText(/Enter hours with an end/).waitFor()
    t.equal(await page.evaluate(focusedLabel), 'From 1', 'the invalid field has the focus')
    await page.getByLabel('From 1').fill('00:00')
    await page.getByLabel('To 1').fill('24:00')
    await submit(page)
    await shown(page, `local:${plain}/tcp`)
    await page.getByText('env=prod, tier=web').waitFor()

    // a range; a port in use shows at its field, and the next attempt replaces the failed rule
    const from = await freePort(3)
    await begin(Number(new URL(origin).port))
    await submit(page)
    await page.getByText('Another program or rule uses this port on the client.').waitFor()
    t.equal(await page.evaluate(focusedLabel), 'Listen port')
    await page.getByText('The rule is stored as failed').waitFor()
    await page.getByLabel('Listen port').fill(String(from))
    await page.getByLabel('Last port (optional)').fill(String(from + 2))
    await submit(page)
    await shown(page, `local:${from}–${from + 2}/tcp`)
    await page.getByRole('heading', { name: 'Ports' }).waitFor()

    // UDP has other fields than TCP
    const udp = await freePort()
    await begin(udp)
    await page.getByLabel('Protocol').selectOption('udp')
    await section(page, 'Access')
    t.equal(await page.getByText('Automatic bans').count(), 0)
    await page.getByLabel('Reply bytes per caller byte').fill('3')
    await submit(page)
    await shown(page, `local:${udp}/udp`)

    // a TLS name with allowed sources
    const tls = await freePort()
    await begin(tls)
    await section(page, 'TLS name')
    await page.getByLabel('TLS name', { exact: true }).fill('not a name')
    await submit(page)
    await page.locator('[aria-invalid=true]').waitFor()
    await page.getByLabel('TLS name', { exact: true }).fill('shop.example.org')
    await section(page, 'Access')
    await page.getByLabel('Allowed sources').fill('127.0.0.0/8 10.0.0.7')
    await submit(page)
    await shown(page, `local:${tls}/tcp`)

    // a group rule by labels
    const client = (await api('GET', '/clients')) as unknown as { client_id: string }[]
    await api('PATCH', `/clients/${client[0]?.client_id}`, { labels: { site: 'paris' } })
    const group = await freePort()
    await begin(group)
    await page.getByLabel('Run on').selectOption({ label: 'All clients with labels' })
    await page.getByLabel('Client labels').fill('site=paris')
    await page.getByText('1 client: local').waitFor()
    await submit(page)
    await shown(page, `local:${group}/tcp`)

    // filters in the URL
    await page.goto(`${origin}/rules?selector=env%3Dprod`)
    await page.getByRole('cell', { name: `${plain}/tcp`, exact: true }).waitFor()
    t.equal(await page.getByRole('row').count(), 2)
    await page.getByLabel('Labels', { exact: true }).fill('env===')
    await page
      .getByText('Write conditions such as env=prod or tier!=db, separated by commas.')
      .first()
      .waitFor()
    await page.goto(`${origin}/rules?state=failed`)
    await page.getByText('No rules match.').waitFor()
    await checkAxe('an empty list')
    t.same(errors, [])
  }
)

/** Returns the accessible name of the focused element. */
const focusedLabel = (): string => {
  const { document } = globalThis as unknown as {
    document: { activeElement: { ariaLabel: string | null; labels: { textContent: string }[] | null } }
  }
  const { ariaLabel, labels } = document.activeElement
  return ariaLabel ?? labels?.[0]?.textContent ?? ''
}

t.test(
  'a rule can be watched, explained, edited in a conflict, paused and deleted',
  { skip: skipReason },
  async t => {
    const { page, origin, checkAxe, errors, api } = await start(t)
    const target = await openEcho(t)
    const port = await freePort()
    const { rule_id } = await api('POST', '/rules', {
      client: 'local',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: target }],
      labels: { env: 'prod' }
    })
    const held = await talk(t, port)
    const gone = new Promise(done => held.once('close', done)) // after a reset, which the socket reports as an error

    await page.goto(`${origin}/rules/${rule_id}`)
    await shown(page, `local:${port}/tcp`)
    const timer = setInterval(() => held.writable && held.write(Buffer.alloc(20_000)), 100)
    t.teardown(() => clearInterval(timer))
    await page.getByRole('img', { name: /Throughput: In [\d.]+ .?bit.s/ }).waitFor({ timeout: 40_000 })
    await page.getByRole('img', { name: /Open connections: Open connections 1/ }).waitFor()
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('The connection is forwarded.').waitFor()
    await page.getByRole('status').filter({ hasText: 'Open: 1' }).waitFor()
    await checkAxe('a rule with traffic')
    for (const name of [/^Refused per minute: Refused up to 0/, /^Health: Targets down up to 0/])
      await page.getByRole('img', { name }).waitFor({ timeout: 75_000 }) // once the first minute has ended

    // an edit conflict
    await page.getByRole('link', { name: 'Edit' }).click()
    await shown(page, 'Edit rule')
    await page.getByLabel('Labels', { exact: true }).fill('env=test')
    await api('PATCH', `/rules/${rule_id}`, { labels: { env: 'stage' }, balance: 'random_two' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else changed this rule').waitFor()
    await page.getByRole('cell', { name: /random_two/ }).waitFor()
    await checkAxe('an edit conflict')
    await page.getByRole('button', { name: 'Save my changes' }).click()
    await shown(page, `local:${port}/tcp`)
    await page.getByText('env=test', { exact: true }).waitFor()
    t.match(await api('GET', `/rules/${rule_id}`), { labels: { env: 'test' }, balance: 'random_two' })

    // a change with its journal entry
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('dialog').getByText('Open connections: 1').waitFor()
    await page.getByRole('dialog').getByLabel('Open connections').selectOption('keep them open')
    await checkAxe('the question before a pause')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByText('The rule is paused. 1 connection from before the pause goes on.').waitFor()
    await page.getByRole('region', { name: 'Journal' }).getByText('paused').first().waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()

    // closing all connections shows their number first
    await page.goto(`${origin}/connections?rule_id=${rule_id}`)
    await page.getByRole('status').filter({ hasText: 'Open: 1' }).waitFor()
    await checkAxe('connections')
    await page.getByRole('button', { name: 'Close all matching' }).click()
    await page.getByText('Matching connections: 1').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close all matching' }).click()
    await gone
    await page.getByText('No open connections.').waitFor()
    await page.goto(`${origin}/connections?source=nonsense`)
    await page.getByRole('alert').waitFor()

    // deleting shows the name and the open connections first
    const doomed = await talk(t, port)
    const cut = new Promise(done => doomed.once('close', done))
    await page.goto(`${origin}/rules/${rule_id}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('Open connections: 1').waitFor()
    await checkAxe('the confirmation of a deletion')
    await page.getByRole('dialog').getByLabel('Open connections').selectOption('cut')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await cut
    await shown(page, 'Rules')
    await page.getByText(`Rule local:${port}/tcp deleted.`).waitFor()
    t.same(errors, [])
  }
)

t.test(
  'a tenant sees own rules, gets granted options, and causes no forbidden request',
  { skip: skipReason },
  async t => {
    const { origin, checkAxe, api } = await start(t)
    const target = await openEcho(t)
    const port = await freePort()
    await api('POST', '/users', {
      user_id: 'ann',
      display_name: 'Ann',
      role: 'user',
      initial_password: 'a password of Ann',
      password_change_required: false
    })
    const clients = (await api('GET', '/clients')) as unknown as { client_id: string }[]
    await api('POST', '/grants', {
      user_id: 'ann',
      client_id: clients[0]?.client_id,
      listen_port_start: port,
      listen_port_end: port,
      protocols: ['tcp']
    })
    await api('POST', '/rules', {
      client: 'local',
      listen_port: await freePort(),
      targets: [{ host: '127.0.0.1', port: target }]
    })
    const { page, errors, close } = await openPage()
    t.teardown(close)
    const refused: string[] = []
    page.on('response', response => {
      if (response.status() === 403) refused.push(response.url())
    })

    await page.goto(`${origin}/rules`)
    await page.getByLabel('User').fill('ann')
    await page.getByLabel('Password', { exact: true }).fill('a password of Ann')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No rules yet.').waitFor()
    await page.goto(`${origin}/rules/new`)
    await page.getByText(`Your grants allow: ${port}`).waitFor()
    t.same(await page.getByLabel('Protocol').locator('option').allTextContents(), ['tcp'])
    await section(page, 'Labels and owner')
    t.equal(await page.getByLabel('Owner').count(), 0)
    await page.getByLabel('Listen port').fill(String(port))
    await page.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Target port', { exact: true }).fill(String(target))
    await checkAxe('the form for a tenant', page)
    await submit(page)
    await shown(page, `local:${port}/tcp`)
    await page.getByRole('link', { name: 'local' }).click()
    await page.getByRole('heading', { name: 'Rules' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
    for (const path of ['/', '/connections', '/clients']) {
      await page.goto(origin + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('load')
    }

    t.same(refused, [], 'no request is forbidden')
    t.same(errors, [])
  }
)

t.test('a grant for all clients counts in the form of a tenant', { skip: skipReason }, async t => {
  const { origin, api } = await start(t)
  const ann = { user: 'ann', password: 'a password of Ann' }
  await api('POST', '/users', {
    user_id: ann.user,
    display_name: 'Ann',
    role: 'user',
    initial_password: ann.password,
    password_change_required: false
  })
  await api('POST', '/grants', {
    user_id: ann.user,
    client_id: '*',
    listen_port_start: 20_000,
    listen_port_end: 20_099,
    protocols: ['tcp']
  })
  const { page, close } = await openPage()
  t.teardown(close)

  await page.goto(`${origin}/rules/new`)
  await signIn(page, ann)

  await page.getByText('Your grants allow: 20000–20099').waitFor()
  t.equal(await page.getByText('You have no grant for this client.').count(), 0)
})

t.test(
  'a client can be renamed, labeled, limited, revoked and deleted, also while it is offline',
  { skip: skipReason },
  async t => {
    const { data, page, origin, checkAxe, errors, api } = await start(t)
    const target = await openEcho(t)
    const port = await freePort()
    await api('POST', '/rules', {
      client: 'local',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: target }]
    })

    await page.goto(`${origin}/clients`)
    await page.getByRole('main').getByRole('link', { name: 'local' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name').fill('paris')
    await page.getByRole('dialog').getByLabel('Labels').fill('site=paris')
    await page.getByRole('button', { name: 'Save' }).click()
    await shown(page, 'paris')
    await page.getByRole('definition').filter({ hasText: 'site=paris' }).waitFor()
    await page.getByRole('button', { name: 'Change limits of _operator' }).click()
    await page.getByLabel('Concurrent connections').fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Concurrent connections: 7' }).waitFor()
    await checkAxe('a client')

    // an offline client: its rules are pending
    const { uri } = await api('POST', '/client-enrollments', { name: 'lyon' })
    await promisify(execFile)(process.execPath, [
      bin,
      'agent',
      'enroll',
      uri ?? '',
      '--state-dir',
      `${data}-lyon`
    ])
    await page.goto(`${origin}/rules/new`)
    await page.getByLabel('Client', { exact: true }).selectOption({ label: 'lyon (offline)' })
    await page.getByLabel('Listen port').fill(String(port))
    await page.getByLabel('Target host', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Target port', { exact: true }).fill(String(target))
    await submit(page)
    await page.getByText('The client is offline.', { exact: true }).waitFor()
    await page.getByLabel(/apply it when lyon is back online/).check()
    await submit(page)
    await shown(page, `lyon:${port}/tcp`)
    await page.goto(origin)
    await page.getByRole('link', { name: 'Client lyon is offline' }).waitFor()
    await page.getByRole('link', { name: '1 rule waits for its client' }).click()
    await page.getByRole('cell', { name: 'pending', exact: true }).waitFor()
    await page.getByRole('link', { name: 'lyon' }).click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page
      .getByRole('dialog')
      .getByText(/1 rule/)
      .waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('rules, quotas, limits and grants').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('lyon deleted.').waitFor()
    t.same(errors, [])
  }
)
