import { createSocket } from 'node:dgram'
import { isIPv4 } from 'node:net'
import { errorOf, type Probe, type ProbeResult } from './dial.ts'

const answerMs = 700

/** Sends an empty datagram, or the header of the rule's health check. An ICMP error shows that nothing listens. */
export async function dialUdp(
  addresses: readonly string[],
  port: number,
  probe: Probe
): Promise<ProbeResult> {
  const { path, call, mayWrite, deadlineMs } = probe
  const { clock } = call
  const [address = ''] = addresses // flows use the first address
  if (!mayWrite) return { address }
  const release = call.paths.reserveDescriptor(path)
  if (!release) return { address, error: 'descriptors' }
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  const socket = createSocket(family === 'ipv4' ? 'udp4' : 'udp6')
  const cancel = clock.after(Math.min(answerMs, Math.max(0, deadlineMs - clock.monotonic())), () =>
    resolve({})
  )
  const begun = clock.monotonic()
  socket.once('close', release)
  socket.on('error', error => resolve({ error: errorOf(error) }))
  socket.once('message', () => resolve({ first_byte_ms: clock.monotonic() - begun }))
  socket.once('connect', () => socket.send(path.plan.preamble?.probe ?? Buffer.alloc(0)))
  const from = path.plan.dialFrom?.[family]
  if (from) socket.bind(0, from, () => socket.connect(port, address))
  else socket.connect(port, address)
  try {
    return { address, ...(await promise) }
  } finally {
    cancel()
    socket.close()
  }
}
