// Sends a byte through the port of a rule, as a caller on the agent's host. It counts like any other caller.
import { createSocket } from 'node:dgram'
import { connect, isIPv4 } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { AgentCall, ExplainStep, RulePath } from '../../agent/plugin.ts'
import { errorOf } from './dial.ts'
import { serverNameFor } from './probe.ts'
import { nameOf } from './target-steps.ts'
import type { Ask } from './wire.ts'

const answerMs = 1_500
const byte = Buffer.from('\n') // an empty line, which line protocols ignore

/** PROXY protocol version 2, LOCAL: the sender is the caller (proxy-protocol.txt, 2.2). */
const ownHeader = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')

/** The number of bytes received, or why the call ended: an error of the connect, else null. */
type Answer = { readonly bytes: number } | { readonly endedBy: string | null }

interface Sending {
  readonly port: number
  readonly address: string
  readonly header: Buffer | null
  readonly serverName: string | null // null: without TLS
  readonly onClose: () => void
}

/** Calls the port and reports the response. The step decides nothing, since callers have other addresses. */
export async function sendTestByte(question: Ask, path: RulePath, call: AgentCall): Promise<ExplainStep> {
  const { port } = question
  const address = call.paths.ownAddress
  const header = path.plan.firstRead ? ownHeader : null
  const release = call.paths.reserveDescriptor(path)
  const id = nameOf({ host: address, port })
  if (!release) return { kind: 'test_byte', id, ...outcomeOf({ endedBy: 'descriptors' }, 0) }
  const sending = { port, address, header, serverName: serverNameFor(question, path), onClose: release }
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const begun = call.clock.monotonic()
  const end = (path.spec.protocol === 'udp' ? sendDatagram : sendByTcp)(sending, resolve)
  const cancel = call.clock.after(answerMs, () => resolve({ bytes: 0 }))
  const answer = await promise
  cancel()
  end()
  const ms = Math.round((call.clock.monotonic() - begun) * 10) / 10
  return { kind: 'test_byte', id, ...outcomeOf(answer, ms) }
}

function outcomeOf(answer: Answer, ms: number): Pick<ExplainStep, 'verdict' | 'reason' | 'text'> {
  if ('endedBy' in answer) {
    const text = 'a byte was sent from this host, then a target, a filter or a limit ended the call'
    return { verdict: 'info', reason: answer.endedBy, text }
  }
  const { bytes } = answer
  const size = bytes === 1 ? '1 byte' : `${bytes} bytes`
  const back = bytes === 0 ? 'no response yet' : `${size} came back after ${ms} ms`
  return { verdict: 'pass', reason: null, text: `a byte was sent through the port; ${back}` }
}

type Answered = (answer: Answer) => void

/** Returns a function that ends the call. */
function sendByTcp({ port, address, header, serverName, onClose }: Sending, answered: Answered): () => void {
  const socket = connect({ host: address, port }).once('close', onClose)
  if (header) socket.write(header)
  const asAnybody = { socket, rejectUnauthorized: false } // callers judge certificates
  const stream = serverName === null ? socket : connectTls({ ...asAnybody, servername: serverName })
  stream.write(byte)
  stream.once('data', (data: Buffer) => answered({ bytes: data.length }))
  const failed = (error: NodeJS.ErrnoException): void =>
    answered({ endedBy: error.syscall === 'connect' ? errorOf(error) : null })
  socket.on('error', failed)
  if (stream !== socket) stream.on('error', failed)
  socket.once('close', () => answered({ endedBy: null }))
  return () => {
    if (socket.connecting) return void socket.destroy() // otherwise the kernel retries for minutes
    stream.end()
    socket.destroySoon()
  }
}

function sendDatagram({ port, address, header, onClose }: Sending, answered: Answered): () => void {
  const socket = createSocket(isIPv4(address) ? 'udp4' : 'udp6').once('close', onClose)
  socket.on('error', error => answered({ endedBy: errorOf(error) }))
  socket.once('message', ({ length }) => answered({ bytes: length }))
  socket.connect(port, address, () => socket.send(header ? [header, byte] : byte))
  return () => socket.close()
}
