// Sends a byte through the port of a rule, as a caller from the agent's own host: it counts as any other caller.
import { createSocket } from 'node:dgram'
import { connect, isIPv4 } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { AgentCall, ExplainStep, RulePath } from '../../agent/plugin.ts'
import { errorOf } from './dial.ts'
import { serverNameOf } from './probe.ts'
import { nameOf } from './target-steps.ts'
import type { Ask } from './wire.ts'

const answerMs = 1_500
const byte = Buffer.from('\n') // an empty line, which protocols of lines pass over

/** PROXY protocol version 2, LOCAL: the sender speaks for itself (proxy-protocol.txt, 2.2). */
const ownHeader = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')

/** How many bytes have come back; or why the port has ended the call: an error of the connect, else null. */
type Answer = { readonly bytes: number } | { readonly endedBy: string | null }

interface Sending {
  readonly port: number
  readonly address: string
  readonly header: Buffer | null
  readonly serverName: string | null // null: without TLS
}

/** Calls the port, and tells what came back. It stops nobody: callers have other addresses than this host. */
export async function sendTestByte(question: Ask, path: RulePath, call: AgentCall): Promise<ExplainStep> {
  const { port } = question
  const address = call.paths.ownAddress
  const header = path.plan.firstRead ? ownHeader : null
  const sending = { port, address, header, serverName: serverNameOf(question, path) }
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const begun = call.clock.monotonic()
  const end = (path.spec.protocol === 'udp' ? sendDatagram : sendByTcp)(sending, resolve)
  const cancel = call.clock.after(answerMs, () => resolve({ bytes: 0 }))
  const answer = await promise
  cancel()
  end()
  const ms = Math.round((call.clock.monotonic() - begun) * 10) / 10
  return { kind: 'test_byte', id: nameOf({ host: address, port }), ...outcomeOf(answer, ms) }
}

function outcomeOf(answer: Answer, ms: number): Pick<ExplainStep, 'verdict' | 'reason' | 'text'> {
  if ('endedBy' in answer) {
    const text = 'a byte was sent from this host, and the call has ended: by the target, a filter or a limit'
    return { verdict: 'info', reason: answer.endedBy, text }
  }
  const { bytes } = answer
  const size = bytes === 1 ? '1 byte' : `${bytes} bytes`
  const back = bytes === 0 ? 'nothing has come back yet' : `${size} came back after ${ms} ms`
  return { verdict: 'pass', reason: null, text: `a byte was sent through the port; ${back}` }
}

type Answered = (answer: Answer) => void

/** Returns what ends the call. */
function sendByTcp({ port, address, header, serverName }: Sending, answered: Answered): () => void {
  const socket = connect({ host: address, port })
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
    if (socket.connecting) return void socket.destroy() // the system would go on for minutes
    stream.end()
    socket.destroySoon()
  }
}

function sendDatagram({ port, address, header }: Sending, answered: Answered): () => void {
  const socket = createSocket(isIPv4(address) ? 'udp4' : 'udp6')
  socket.on('error', error => answered({ endedBy: errorOf(error) }))
  socket.once('message', ({ length }) => answered({ bytes: length }))
  socket.connect(port, address, () => socket.send(header ? [header, byte] : byte))
  return () => socket.close()
}
