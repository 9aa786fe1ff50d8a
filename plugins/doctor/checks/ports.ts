// The addresses that a server or agent listens on.
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { firstFreePort, lowPortRemedy } from '../../../kernel/platform/low-port.ts'
import { type DoctorContext, defineCheck, type Finding } from '../../cli/check-exports.ts'
import { sharedListens } from '../other-half.ts'

const connectMs = 3_000

type FindingId =
  | 'port.shared'
  | 'port.taken'
  | 'port.privileged'
  | 'port.address'
  | 'port.silent'
  | 'port.refused'
  | 'port.outgoing'

export const ports = defineCheck<FindingId>({
  name: 'ports',
  roles: ['server', 'agent'],
  findings: {
    'port.shared': {
      status: 'fail',
      when: 'server and agent on this host want the same port, so the one that starts later fails',
      remedy:
        'give one of them another port: SVC_AGENT_METRICS_LISTEN, or metrics_listen in agent.toml, is for the agent alone; SVC_METRICS_LISTEN is read by both'
    },
    'port.taken': {
      status: 'fail',
      when: 'another process listens on a configured address',
      remedy: 'stop that process (ss -ltnp shows it), or configure another address'
    },
    'port.privileged': {
      status: 'fail',
      when: 'a configured port needs CAP_NET_BIND_SERVICE, which this user lacks',
      remedy: 'use the systemd unit of sluice service install, which has the capability'
    },
    'port.address': {
      status: 'fail',
      when: 'a configured address does not belong to this host',
      remedy: 'use an address that ip addr shows, or 0.0.0.0 or [::] for all'
    },
    'port.refused': {
      status: 'fail',
      when: 'the system refuses to listen on a configured address for another reason',
      remedy: 'configure another address'
    },
    'port.silent': {
      status: 'fail',
      when: 'a process has locked the directory, but nothing listens on a configured address',
      remedy:
        'if the process uses another configuration, give its --config; if it is a command such as restore, wait until it ends'
    },
    'port.outgoing': {
      status: 'warn',
      when: 'a configured port is in the range for outgoing connections, so a start may find it in use',
      remedy:
        'use a port outside net.ipv4.ip_local_port_range, or reserve it in net.ipv4.ip_local_reserved_ports'
    }
  },
  async run(context) {
    const listens = Object.entries(context.keys).filter(
      ([key, value]) => key.endsWith('_listen') && typeof value === 'string'
    )
    const found = await Promise.all(listens.map(([key, value]) => checkPort(context, key, String(value))))
    const own = listens.map(([key, value]) => ({ key, text: String(value) }))
    const shared = sharedListens(context, own, process.env).map(([one, other]) => ({
      id: 'port.shared' as const,
      message: `${one.key} ${one.text} is also ${other.key} ${other.text} of the ${context.role === 'server' ? 'agent' : 'server'} on this host`
    }))
    const flat = [...shared, ...found.flat()]
    return flat.length > 0 ? flat : [{ ok: 'no address is configured' }]
  }
})

async function checkPort(context: DoctorContext, key: string, listen: string): Promise<Finding<FindingId>[]> {
  const { hostname, port: text } = new URL(`tcp://${listen}`)
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(text) }
  if (address.port === 0) return [{ ok: `${key} takes any free port` }]
  const state = context.isRunning
    ? await answers(key, listen, address)
    : await tryToListen(key, listen, address)
  return isOutgoing(context, address.port)
    ? [
        state,
        {
          id: 'port.outgoing',
          message: `${key} ${listen}: ${address.port} may be taken by an outgoing connection`
        }
      ]
    : [state]
}

interface Address {
  readonly host: string
  readonly port: number
}

async function answers(key: string, listen: string, { host, port }: Address): Promise<Finding<FindingId>> {
  const isAny = /^(::|0\.0\.0\.0)$/.test(host)
  return (await canConnect({ host: isAny ? 'localhost' : host, port }))
    ? { ok: `${key} ${listen} is in use by the process that runs here` }
    : {
        id: 'port.silent',
        message: `another process uses this directory, but nothing listens on ${key} ${listen}`
      }
}

function tryToListen(key: string, listen: string, address: Address): Promise<Finding<FindingId>> {
  const { promise, resolve } = Promise.withResolvers<Finding<FindingId>>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => {
    const hasNoIpv6 = /EAFNOSUPPORT|EADDRNOTAVAIL/.test(error.message)
    if (hasNoIpv6 && address.host === '::')
      // a server falls back to IPv4, too
      return resolve(tryToListen(key, listen, { ...address, host: '0.0.0.0' }))
    const message = `${key} ${listen}: ${error.message}`
    if (error.code === 'EADDRINUSE') return resolve({ id: 'port.taken', message })
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      return resolve({ id: 'port.address', message })
    if (error.code === 'EACCES' && address.port < firstFreePort())
      return resolve({ id: 'port.privileged', message, remedy: lowPortRemedy(error, address.port).slice(2) })
    resolve({ id: 'port.refused', message })
  })
  server.listen(address, () => server.close(() => resolve({ ok: `${key} ${listen} is free` })))
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

/** Returns whether an outgoing connection can take the port, because it is in the range and not reserved. */
export function isOutgoing({ host }: Pick<DoctorContext, 'host'>, port: number): boolean {
  const range = host.read('/proc/sys/net/ipv4/ip_local_port_range')
  const [from = 0, to = 0] = (range ?? '').trim().split(/\s+/).map(Number)
  const reserved = (host.read('/proc/sys/net/ipv4/ip_local_reserved_ports') ?? '').trim().split(',')
  const isReserved = reserved.some(text => {
    const [low = Number.NaN, high = low] = text.split('-').map(Number)
    return port >= low && port <= high
  })
  return port >= from && port <= to && !isReserved
}

export const bind = defineCheck({
  name: 'bind',
  roles: ['agent'],
  findings: {
    'bind.address': {
      status: 'fail',
      when: 'an address in `bind` does not belong to this host, so every rule fails',
      remedy: 'use addresses that ip addr shows, or 0.0.0.0 and :: for all'
    }
  },
  async run({ keys }) {
    const own = Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))
    const wanted = (keys['bind'] as readonly string[]).filter(address => !/^(0\.0\.0\.0|::)$/.test(address)) // validated
    const missing = wanted.filter(address => !own.includes(address))
    if (missing.length === 0) return [{ ok: 'rules listen on addresses of this host' }]
    return missing.map(address => ({
      id: 'bind.address' as const,
      message: `bind has ${address}, which does not belong to this host`
    }))
  }
})
