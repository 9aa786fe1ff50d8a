// A proxy between agents and their server, with the server's certificate. It cuts and delays connections, splits
// reports, and repeats committed ones. It forwards data in chunks of random size.
import { once } from 'node:events'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { StatsReport } from '../../agent/wire/journal-report.ts'
import { alpn, Hello } from '../../kernel/wire/control.ts'
import { Envelope } from '../../kernel/wire/envelope.ts'
import { encodeFrame, frameLimit, frameParser } from '../../kernel/wire/frame.ts'
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import type { TestFolder } from '../support/test-cluster.ts'
import {
  codec,
  isOwnResponse,
  type Message,
  openReportMangler,
  type ReportMangler
} from './report-mangler.ts'

export interface ControlProxy {
  /** Cuts all connections in the middle of a message. */
  cut(): void
  /** Cuts a connection at the next response to a report: the report is committed, but not acknowledged. */
  cutBeforeResponse(): void
  /** Cuts a connection at its next report, and forwards the report after the agent has reconnected. */
  delayReport(): void
  /** Pauses all connections until `resume`. */
  pause(): void
  resume(): void
  /** Stops repeating earlier reports, since a restored server does not have them. */
  forgetReports(): void
}

interface Options {
  readonly port: number
  readonly controlPort: number
  /** The server's certificate and key. */
  readonly pem: string
  readonly dice: SeededRandom
}

interface State {
  readonly connections: Set<Connection>
  readonly reports: ReportMangler
  readonly dice: SeededRandom
  isPaused: boolean
  cutsBeforeResponse: boolean
  delaysReport: boolean
}

interface Connection {
  readonly agent: TLSSocket
  readonly server: TLSSocket
  readonly pending: Map<number, Uint8Array> // reports without a response, by id
  token: string
  delayed: Uint8Array | null // a report to forward after the agent has reconnected
}

export async function openProxy(t: TestFolder, options: Options): Promise<ControlProxy> {
  const { port, controlPort, pem, dice } = options
  const connections = new Set<Connection>()
  const reports = openReportMangler(dice)
  const state: State = {
    connections,
    reports,
    dice,
    isPaused: false,
    cutsBeforeResponse: false,
    delaysReport: false
  }
  const proxy = createServer({ cert: pem, key: pem, ALPNProtocols: [alpn], minVersion: 'TLSv1.3' }, agent =>
    connectToServer(state, agent, controlPort)
  )
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  const onAllSockets = (action: 'pause' | 'resume' | 'destroy'): void => {
    for (const { agent, server } of connections) for (const socket of [agent, server]) socket[action]()
  }
  t.teardown(() => {
    proxy.close()
    onAllSockets('destroy')
  })

  return {
    cut: () => onAllSockets('destroy'),
    cutBeforeResponse() {
      state.cutsBeforeResponse = true
    },
    delayReport() {
      state.delaysReport = true
    },
    pause() {
      state.isPaused = true
      onAllSockets('pause')
    },
    resume() {
      state.isPaused = false
      onAllSockets('resume')
    },
    forgetReports: reports.forgetCommitted
  }
}

function connectToServer(state: State, agent: TLSSocket, port: number): void {
  const server = connect({ port, host: '127.0.0.1', ALPNProtocols: [alpn], rejectUnauthorized: false })
  const connection: Connection = { agent, server, pending: new Map(), token: '', delayed: null }
  state.connections.add(connection)
  const parser = (forward: typeof forwardToServer) =>
    frameParser(
      () => frameLimit,
      body => forward(state, connection, body)
    )
  agent.on('data', parser(forwardToServer)).on('error', () => {}) // 'close' follows
  server.on('data', parser(forwardToAgent)).on('error', () => {})
  agent.on('close', () => {
    state.cutsBeforeResponse = false
    if (!connection.delayed) server.destroy() // otherwise the server closes it after the agent has reconnected
  })
  server.on('close', () => {
    state.connections.delete(connection)
    agent.destroy()
  })
  for (const socket of [agent, server]) {
    socket.setNoDelay(true)
    if (state.isPaused) socket.pause()
  }
}

function forwardToServer(state: State, connection: Connection, body: Uint8Array): void {
  const message = body.length > 0 ? codec.decode(Envelope, body) : null
  if (message?.name === StatsReport.name) return void forwardReport(state, connection, message)
  if (message?.name === Hello.name) {
    connection.token = codec.decode(Hello, message.body).token
    for (const { server, token, delayed } of state.connections)
      if (delayed && token === connection.token) write(state, server, delayed)
  }
  write(state, connection.server, body)
}

function forwardReport(state: State, connection: Connection, message: Message): void {
  if (state.delaysReport) {
    state.delaysReport = false
    connection.delayed = codec.encode(Envelope, message)
    return void connection.agent.destroy()
  }
  connection.pending.set(message.id, message.body)
  for (const part of state.reports.splitAndRepeat(message, connection.token))
    write(state, connection.server, codec.encode(Envelope, part))
}

function forwardToAgent(state: State, connection: Connection, body: Uint8Array): void {
  const { re } = body.length > 0 ? codec.decode(Envelope, body) : { re: 0 }
  if (isOwnResponse(re)) return
  const report = connection.pending.get(re)
  if (report && state.cutsBeforeResponse) return void connection.agent.destroy()
  if (report) state.reports.addCommitted(connection.token, report)
  write(state, connection.agent, body)
}

/** Writes a frame in chunks of random size. */
function write({ dice }: State, socket: TLSSocket, body: Uint8Array): void {
  const bytes = encodeFrame(body)
  for (let at = 0; at < bytes.length; ) {
    const size = dice.oneIn(3) ? 1 + dice.below(bytes.length) : bytes.length
    socket.write(bytes.subarray(at, at + size))
    at += size
  }
}
