// Checks of this machine: data directory, clock, ports, file descriptors.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { lowPortRemedy } from '../../config/low-port.ts'
import { systemClock, timestamp } from '../../kernel/base/clock.ts'
import { unsuitableKind } from '../cli/exports.ts'
import type { DoctorCheck, DoctorContext, Finding } from './exports.ts'
import { queryStore } from './query-store.ts'

const wantedDescriptors = 65_536
const wantedFreeBytes = 512 * 2 ** 20
const connectMs = 3_000

export const directory: DoctorCheck = {
  name: 'data_dir',
  async run({ dataDir }) {
    const kind = unsuitableKind(dataDir)
    if (kind !== null)
      return {
        status: 'fail',
        message: `${dataDir} is on ${kind}`,
        remedy: 'give a data_dir on a local disk'
      }
    if (!existsSync(dataDir)) return { status: 'ok', message: `the first start creates ${dataDir}` }
    const paths = [dataDir, join(dataDir, 'sluice.db'), join(dataDir, 'control.pem')]
    const open = paths.find(path => existsSync(path) && (statSync(path).mode & 0o066) !== 0)
    if (open !== undefined)
      return { status: 'fail', message: `others may read or write ${open}`, remedy: `run chmod go= ${open}` }
    const { bavail, bsize } = await statfs(dataDir)
    if (bavail * bsize < wantedFreeBytes)
      return {
        status: 'warn',
        message: `${Math.floor((bavail * bsize) / 2 ** 20)} MiB are free at ${dataDir}`,
        remedy: 'free some space: on a full disk the server refuses every change'
      }
    return { status: 'ok', message: `${dataDir} is a private directory on a local disk` }
  }
}

/** Compares now with the latest time of a client: a clock set back would make expired sessions and codes valid. */
export const clock: DoctorCheck = {
  name: 'clock',
  async run({ dataDir }) {
    const [row] = await queryStore<{ last: number | null }>(
      dataDir,
      'kernel_client',
      'select max(max(coalesce(last_seen_at, 0)), max(enrolled_at)) as last from kernel_client'
    )
    const aheadMs = (row?.last ?? 0) - systemClock.now()
    if (aheadMs > 60_000)
      return {
        status: 'fail',
        message: `the store has a time ${Math.round(aheadMs / 1000)} s ahead of now`,
        remedy: 'set the clock and enable NTP'
      }
    return {
      status: 'ok',
      message: `it is ${timestamp(systemClock.now())}, not behind the times of the clients`
    }
  }
}

export const ports: DoctorCheck = {
  name: 'ports',
  run: context =>
    Promise.all(
      Object.entries(context.keys)
        .filter(([key, value]) => key.endsWith('_listen') && typeof value === 'string')
        .map(([key, value]) => checkPort(context, key, String(value)))
    )
}

async function checkPort({ isRunning }: DoctorContext, key: string, listen: string): Promise<Finding> {
  const { hostname, port } = new URL(`tcp://${listen}`)
  const host = hostname.replace(/^\[|\]$/g, '')
  if (port === '0' || port === '') return { status: 'ok', message: `${key} takes any free port` }
  if (!isRunning) return tryToListen(key, listen, { host, port: Number(port) })
  return (await canConnect({ host: /^(::|0\.0\.0\.0)$/.test(host) ? 'localhost' : host, port: Number(port) }))
    ? { status: 'ok', message: `${key} ${listen} is in use by the running server` }
    : {
        status: 'fail',
        message: `another process uses this data directory, and nobody listens on ${key} ${listen}`,
        remedy:
          'is it a server with another configuration? give its --config; a command such as restore? wait for its end'
      }
}

interface Address {
  readonly host: string
  readonly port: number
}

function tryToListen(key: string, listen: string, address: Address): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>()
  const server = createServer()
  server.once('error', error => {
    const hasNoIpv6 = /EAFNOSUPPORT|EADDRNOTAVAIL/.test(error.message)
    if (hasNoIpv6 && address.host === '::')
      // the server falls back to IPv4, too
      return resolve(tryToListen(key, listen, { ...address, host: '0.0.0.0' }))
    resolve({
      status: 'fail',
      message: `${key} ${listen}: ${error.message}`,
      remedy:
        lowPortRemedy(error, address.port).slice(2) || 'stop the process that has it, or give another address'
    })
  })
  server.listen(address, () =>
    server.close(() => resolve({ status: 'ok', message: `${key} ${listen} is free` }))
  )
  return promise
}

function canConnect(address: Address): Promise<boolean> {
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
    if (process.platform !== 'linux') return { status: 'ok', message: `not examined on ${process.platform}` }
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN)
    if (!(soft < wantedDescriptors)) return { status: 'ok', message: `${soft || 'unlimited'} descriptors` }
    return {
      status: 'warn',
      message: `${soft} descriptors in this shell; each agent and each connection takes one or two`,
      remedy: `raise it to ${wantedDescriptors}: ulimit -n, or LimitNOFILE= of the unit`
    }
  }
}
