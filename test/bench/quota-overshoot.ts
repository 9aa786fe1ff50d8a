// How many bytes a quota lets through beyond its size, at full speed: real server, real agent, live connections.
//   node test/bench/quota-overshoot.ts [--connections 1,10,100] [--mib 200] [--patches 1000] [--splice off]
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Test } from 'tap'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import { freePort } from '../kit/ports.ts'
import { edge, site, token } from '../kit/site.ts'

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '1,10,100' },
    mib: { type: 'string', default: '200' },
    patches: { type: 'string', default: '1000' },
    splice: { type: 'string', default: 'on' }
  }
})
const counts = values.connections.split(',').map(Number)
const MiB = 1024 * 1024

const dir = mkdtempSync(join(import.meta.dirname, '.overshoot-'))
const releases: (() => unknown)[] = []
// What the kit asks of a test.
const t = {
  testdir: () => dir,
  teardown: (release: () => unknown) => void releases.push(release)
} as unknown as Test

/** Sends zeros to whoever connects, for as long as they are taken. */
async function source(): Promise<number> {
  const block = Buffer.alloc(64 * 1024)
  const server = createServer(socket => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(block));
    }
    socket.on('drain', pour).on('error', () => {})
    pour()
  }).listen(0, '127.0.0.1')
  releases.push(() => server.close())
  await once(server, 'listening')
  return (server.address() as { port: number }).port // of a TCP listener
}

/** Datagrams of 1,400 bytes through the port, until told to stop; what has come through is counted at the target. */
async function flood(listenPort: number, target: Socket, more: () => boolean): Promise<() => number> {
  let bytes = 0
  target.on('message', message => {
    bytes += message.length
  })
  const sender = createSocket('udp4')
  releases.push(() => sender.close())
  const block = Buffer.alloc(1400)
  const pour = (): void => {
    if (!more()) return
    for (let i = 0; i < 32; i++) sender.send(block, listenPort, '127.0.0.1')
    setImmediate(pour)
  }
  pour()
  return () => bytes
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function main(): Promise<void> {
  const on = await site(t)
  const { clientId, agent } = await edge(t, on, 'edge', {
    env: values.splice === 'off' ? { SVC_DISABLE_SPLICE: '1' } : {}
  })
  const { message, msg = message } = await agent.until('engine.selected')
  console.log(String(msg))
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const reply = await fetch(on.origin + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) })
    })
    if (!reply.ok) throw new Error(await reply.text())
    return (await reply.json()) as T
  }
  const target = await source()

  /** A size that is changed while the bytes run, and cleared usage: nothing is lost, nothing granted. */
  async function race(changes: number): Promise<void> {
    await call('POST', '/v1/users', { user_id: 'race', display_name: 'race' })
    const port = await freePort()
    const targets = [{ host: '127.0.0.1', port: target }]
    await call('POST', '/v1/rules', { client: 'edge', listen_port: port, owner: 'race', targets })
    const path = `/v1/users/race/quotas/${clientId}`
    await call('PUT', path, { monthly_bytes: MiB })
    let received = 0
    for (let i = 0; i < 4; i++)
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .on('data', chunk => {
          received += chunk.length
        })
    let size = MiB
    let forgiven = 0
    for (let i = 0; i < changes; i++) {
      size += Math.floor(Math.random() * 512 * 1024)
      const isCleared = i % 100 === 99
      const before = isCleared ? await call<QuotaRow>('GET', `${path}/status`) : null
      const body = isCleared ? { clear_period_usage: true } : { monthly_bytes: size }
      const row = await call<QuotaRow>(i % 2 === 0 || isCleared ? 'PATCH' : 'PUT', path, body)
      if (before && row.bytes_used !== 0) throw new Error('usage was not cleared')
      if (isCleared) forgiven++
    }
    await call('PATCH', path, { monthly_bytes: size })
    let row = await call<QuotaRow>('GET', `${path}/status`)
    for (let last = -1; last !== received || !row.exhausted; ) {
      last = received
      await pause(6000)
      row = await call<QuotaRow>('GET', `${path}/status`)
    }
    const [{ rule_id } = { rule_id: '' }] = await call<{ rule_id: string }[]>('GET', '/v1/rules?owner=race')
    const { bytes_out } = await call<{ bytes_out: number }>('GET', `/v1/rules/${rule_id}/stats`)
    console.log(
      `${changes} changes (${forgiven} of them cleared) under 4 connections: ` +
        `${row.bytes_used - size} bytes over by the books, ${bytes_out - received} counted and not received`
    )
  }
  await call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })

  for (const count of counts) {
    const [user, port] = [`user-${count}`, await freePort()]
    await call('POST', '/v1/users', { user_id: user, display_name: user })
    const targets = [{ host: '127.0.0.1', port: target }]
    await call('POST', '/v1/rules', { client: 'edge', listen_port: port, owner: user, targets })
    const path = `/v1/users/${user}/quotas/${clientId}`
    const size = Number(values.mib) * MiB
    await call('PUT', path, { monthly_bytes: size })
    let received = 0
    const sockets = Array.from({ length: count }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .on('data', chunk => {
          received += chunk.length
        })
    )
    const began = performance.now()
    let row = await call<QuotaRow>('GET', `${path}/status`)
    for (let before = -1; before !== received || !row.exhausted; ) {
      before = received
      await pause(1500)
      row = await call<QuotaRow>('GET', `${path}/status`)
    }
    const secs = (performance.now() - began) / 1000
    const [booked, taken] = [row.bytes_used - size, received - size]
    console.log(
      `${count} connections: ${booked} bytes over by the books, ${taken} by the receivers ` +
        `(${Math.round(Math.max(booked, taken) / count)} a connection; settled after ${secs.toFixed(1)} s)`
    )
    for (const socket of sockets) socket.destroy()
  }

  await race(Number(values.patches))

  const sink = createSocket('udp4').bind(0, '127.0.0.1')
  releases.push(() => sink.close())
  await once(sink, 'listening')
  await call('POST', '/v1/users', { user_id: 'udp', display_name: 'udp' })
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: sink.address().port }]
  const rule = { client: 'edge', listen_port: port, protocol: 'udp', owner: 'udp', targets }
  await call('POST', '/v1/rules', rule)
  const path = `/v1/users/udp/quotas/${clientId}`
  const size = 20 * MiB
  await call('PUT', path, { monthly_bytes: size })
  let isSpent = false
  const received = await flood(port, sink, () => !isSpent)
  while (!isSpent) {
    await pause(1000)
    isSpent = (await call<QuotaRow>('GET', `${path}/status`)).exhausted
  }
  await pause(6000)
  const { bytes_used } = await call<QuotaRow>('GET', `${path}/status`)
  console.log(
    `UDP, datagrams of 1,400: ${bytes_used - size} bytes over by the books, ${received() - size} by the receiver`
  )
}

await main().finally(async () => {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true, force: true })
})
