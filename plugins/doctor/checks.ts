// What is looked at with the means of this machine alone: directory, clock, ports, descriptors.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { refusedKind } from '../../kernel/store/filesystem.ts'
import { onStore } from './ask.ts'
import type { DoctorCheck, Finding, Place } from './exports.ts'

const wantedDescriptors = 65_536
const wantedFreeBytes = 512 * 2 ** 20
const connectMs = 3_000

export const directory: DoctorCheck = {
  name: 'data_dir',
  async run({ dataDir }) {
    if (!existsSync(dataDir)) return { is: 'ok', says: `${dataDir} is made at the first start` }
    const { type, bavail, bsize } = await statfs(dataDir)
    const kind = refusedKind(type)
    if (kind !== null)
      return { is: 'fail', says: `${dataDir} is on ${kind}`, remedy: 'give a data_dir on a local disk' }
    const store = join(dataDir, 'sluice.db')
    const ours = existsSync(store) ? [dataDir, store, join(dataDir, 'control.pem')] : [] // a start closes the rest
    const open = ours.find(path => existsSync(path) && (statSync(path).mode & 0o077) !== 0)
    if (open !== undefined)
      return { is: 'fail', says: `others may read ${open}`, remedy: `run chmod go= ${open}` }
    if (bavail * bsize < wantedFreeBytes)
      return {
        is: 'warn',
        says: `${Math.floor((bavail * bsize) / 2 ** 20)} MiB are free at ${dataDir}`,
        remedy: 'make room: a full disk stops the server'
      }
    return { is: 'ok', says: `${dataDir} is a directory of our own on a disk that keeps it` }
  }
}

/** Judged by what was written down before: a clock that goes back brings sessions and codes back to life. */
export const clock: DoctorCheck = {
  name: 'clock',
  async run({ dataDir }) {
    const [row] = await onStore<{ last: number | null }>(
      dataDir,
      'kernel_client',
      'select max(max(coalesce(last_seen_at, 0)), max(enrolled_at)) as last from kernel_client'
    )
    const aheadMs = (row?.last ?? 0) - Date.now()
    if (aheadMs > 60_000)
      return {
        is: 'fail',
        says: `the store has seen a time ${Math.round(aheadMs / 1000)} s ahead of now`,
        remedy: 'set the clock, and let NTP keep it'
      }
    return { is: 'ok', says: `it is ${new Date().toISOString()}, after all that was written down` }
  }
}

export const ports: DoctorCheck = {
  name: 'ports',
  run: place =>
    Promise.all(
      Object.entries(place.keys)
        .filter(([key, value]) => key.endsWith('_listen') && typeof value === 'string')
        .map(([key, value]) => port(place, key, String(value)))
    )
}

async function port({ isRunning }: Place, key: string, listen: string): Promise<Finding> {
  const { hostname, port } = new URL(`tcp://${listen}`)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (port === '0' || port === '') return { is: 'ok', says: `${key} takes any free port` }
  if (!isRunning) return bindable(key, listen, { host, port: Number(port) })
  return (await answers({ host: /^(::|0\.0\.0\.0)$/.test(host) ? 'localhost' : host, port: Number(port) }))
    ? { is: 'ok', says: `${key} ${listen} is held by the server that runs` }
    : {
        is: 'fail',
        says: `a server runs on this data directory, and nobody listens on ${key} ${listen}`,
        remedy: 'was it started with another configuration? give its --config'
      }
}

interface Address {
  readonly host: string
  readonly port: number
}

function bindable(key: string, listen: string, address: Address): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const server = createServer()
  server.once('error', error => {
    const hasNoIpv6 = /EAFNOSUPPORT|EADDRNOTAVAIL/.test(error.message)
    if (hasNoIpv6 && address.host === '::')
      // as the server does
      return resolve(bindable(key, listen, { ...address, host: '0.0.0.0' }))
    resolve({
      is: 'fail',
      says: `${key} ${listen}: ${error.message}`,
      remedy: /EACCES/.test(error.message)
        ? 'ports below 1024 need CAP_NET_BIND_SERVICE; sluice service install gives it'
        : 'stop who holds it, or give another address'
    })
  })
  server.listen(address, () => server.close(() => resolve({ is: 'ok', says: `${key} ${listen} is free` })))
  return promise
}

function answers(address: Address): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(address)
  socket.setTimeout(connectMs, () => resolve(false))
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

export const descriptors: DoctorCheck = {
  name: 'descriptors',
  async run() {
    const limits = process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : ''
    const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN)
    if (!(soft < wantedDescriptors)) return { is: 'ok', says: `${soft || 'unlimited'} descriptors` }
    return {
      is: 'warn',
      says: `${soft} descriptors in this shell; each agent and each connection takes one or two`,
      remedy: `raise it to ${wantedDescriptors}: ulimit -n, or LimitNOFILE= of the unit`
    }
  }
}
