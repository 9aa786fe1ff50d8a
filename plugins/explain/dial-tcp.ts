import { connect, isIPv4, type Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls'
import { errorOf, type Probe, type ProbeResult } from './dial.ts'

const connectMs = 2_000
const staggerMs = 250
const firstByteMs = 400

interface Connected {
  readonly socket: Socket
  readonly address: string
}

/**
 * Dials the addresses with staggered attempts, as the engine does and with descriptors of the rule's owner. Reports
 * the behavior of the target.
 */
export async function dialTcp(
  addresses: readonly string[],
  port: number,
  probe: Probe
): Promise<ProbeResult> {
  const { clock } = probe.call
  const begun = clock.monotonic()
  const dialed = await connectFirst(addresses, port, probe)
  const [first = ''] = addresses
  if ('error' in dialed) return { address: first, error: dialed.error }
  const { socket, address } = dialed
  const seen: ProbeResult = { address, connect_ms: clock.monotonic() - begun }
  try {
    return { ...seen, ...(await afterConnect(socket, probe)) }
  } finally {
    socket.destroy()
  }
}

function connectFirst(
  addresses: readonly string[],
  port: number,
  { path, call }: Probe
): Promise<Connected | { readonly error: string }> {
  const { dialFrom } = path.plan
  const { promise, resolve } = Promise.withResolvers<Connected | { readonly error: string }>()
  const attempts = new Set<Socket>()
  const remaining = [...addresses]
  let failure: string | null = null
  let cancelNext = (): unknown => undefined

  const settle = (outcome: Connected | { readonly error: string }): void => {
    cancelNext()
    cancelAll()
    remaining.length = 0
    if ('socket' in outcome) attempts.delete(outcome.socket)
    for (const socket of attempts) socket.destroy()
    resolve(outcome)
  }
  const cancelAll = call.clock.after(connectMs, () => settle({ error: failure ?? 'connect_timeout' }))

  const next = (): void => {
    cancelNext()
    const [address] = remaining
    if (address === undefined) {
      if (attempts.size === 0) settle({ error: failure ?? 'unreachable' })
      return
    }
    const release = call.paths.reserveDescriptor(path)
    if (!release) {
      if (attempts.size === 0) settle({ error: failure ?? 'descriptors' })
      return // else tries again when an attempt ends
    }
    remaining.shift()
    const localAddress = dialFrom?.[isIPv4(address) ? 'ipv4' : 'ipv6'] ?? undefined
    const socket = connect({
      host: address,
      port,
      autoSelectFamily: false,
      ...(localAddress && { localAddress })
    })
    attempts.add(socket)
    socket.once('close', release)
    socket.on('error', error => {
      failure ??= errorOf(error)
      if (attempts.delete(socket)) next()
    })
    socket.once('connect', () => {
      // A dial to a free port of this host may be assigned that port as its local one.
      const isSelf = socket.localPort === port && socket.localAddress === socket.remoteAddress
      if (isSelf) socket.destroy(Object.assign(new Error('connected to itself'), { code: 'ECONNREFUSED' }))
      else settle({ socket, address })
    })
    if (remaining.length > 0) cancelNext = call.clock.after(staggerMs, next)
  }

  next()
  return promise
}

/** Sends what the rule's health check sends; with a server name, completes a TLS handshake. */
async function afterConnect(socket: Socket, probe: Probe): Promise<ProbeResult> {
  const { path, sni, mayWrite, deadlineMs, call } = probe
  const header = path.plan.preamble?.probe
  if (mayWrite && header) socket.write(header)
  const leftMs = Math.max(0, deadlineMs - call.clock.monotonic())
  if (mayWrite && sni !== null) return shakeHands(socket, sni, leftMs, probe)
  return firstByte(socket, Math.min(firstByteMs, leftMs), probe)
}

/** Waits for the first byte of a target that speaks first, or for its end. */
function firstByte(socket: Socket, ms: number, { call: { clock } }: Probe): Promise<ProbeResult> {
  const begun = clock.monotonic()
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const cancel = clock.after(ms, () => resolve({}))
  socket.once('data', () => resolve({ first_byte_ms: clock.monotonic() - begun }))
  socket.once('end', () => resolve({ error: 'target_closed' }))
  socket.once('error', () => resolve({ error: 'target_closed' }))
  return promise.finally(cancel)
}

/** Completes a TLS handshake and returns the name of the certificate. Does not verify it; callers do. */
function shakeHands(
  socket: Socket,
  sni: string,
  ms: number,
  { call: { clock } }: Probe
): Promise<ProbeResult> {
  const begun = clock.monotonic()
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const tls = connectTls({ socket, servername: sni, rejectUnauthorized: false })
  const cancel = clock.after(ms, () => resolve({}))
  const failed = (): void =>
    resolve(socket.bytesRead === 0 ? { error: 'target_closed' } : { error: 'tls_failed' })
  tls.once('secureConnect', () =>
    resolve({ first_byte_ms: clock.monotonic() - begun, ...certificateOf(tls, sni) })
  )
  tls.once('error', failed)
  tls.once('close', failed)
  return promise.finally(() => {
    cancel()
    tls.on('error', () => {}) // destroy() may cause one
    tls.destroy()
  })
}

function certificateOf(tls: TLSSocket, sni: string): ProbeResult {
  const certificate = tls.getPeerCertificate()
  const { subject, subjectaltname = '' } = certificate
  const [, alternative] = /(?:^|, )DNS:([^,]+)/.exec(subjectaltname) ?? []
  const isForName = checkServerIdentity(sni, certificate) === undefined
  const name = isForName ? sni : (alternative ?? String(subject?.CN ?? ''))
  return { tls_name: name.slice(0, 255), ...(!isForName && { error: 'certificate_name' }) }
}
