// Both ends of a UDP rule. A request contains the size of its response. Each caller has one request in flight.
// A transfer moves at most 64 KiB in each direction.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { TestFolder } from '../support/test-cluster.ts'
import { type Flow, newFlow, type Route, recordArrival } from './tcp-route.ts'

const maxBytes = 1400
const headBytes = 8 // request number and response size, 4 bytes each
const retryMs = 500 // before a request is repeated: the agent may have been killed

interface Recording {
  readonly in: Flow
  readonly out: Flow
  readonly sentAt: Map<string, number> // by direction and number of the datagram
}

interface Bytes {
  readonly in: number
  readonly out: number
}

export async function openUdpRoute(t: TestFolder): Promise<Route> {
  const recording: Recording = { in: newFlow(), out: newFlow(), sentAt: new Map() }
  const targetPort = await openTarget(t, recording)
  let lastNumber = 0

  /** Repeats a request, each time under a new number, until it is answered or `isOver`. */
  async function exchange(caller: Socket, bytes: Bytes, isOver = () => false): Promise<void> {
    for (let isAnswered = false; !isAnswered && !isOver(); ) {
      const number = ++lastNumber
      const request = Buffer.alloc(sized(bytes.in))
      request.writeUInt32BE(number)
      request.writeUInt32BE(sized(bytes.out), 4)
      const answered = isAnsweredInTime(number, caller)
      recording.sentAt.set(`in ${number}`, Date.now())
      recording.in.sent += request.length
      caller.send(request)
      isAnswered = await answered
    }
  }

  return {
    targetPort,
    in: recording.in,
    out: recording.out,
    async transfer(port, bytes) {
      const caller = await openCaller(port, recording)
      const left = { in: Math.min(bytes.in, 1 << 16), out: Math.min(bytes.out, 1 << 16) }
      while (left.in > 0 || left.out > 0) {
        await exchange(caller, left)
        left.in -= maxBytes
        left.out -= maxBytes
      }
      caller.close()
    },
    async startTraffic(port) {
      const caller = await openCaller(port, recording)
      let isOver = false
      async function run(): Promise<void> {
        while (!isOver) await exchange(caller, { in: maxBytes, out: maxBytes }, () => isOver)
        caller.close()
      }
      return {
        ended: run(),
        stop() {
          isOver = true
        }
      }
    }
  }
}

const sized = (bytes: number): number => Math.min(Math.max(bytes, headBytes), maxBytes)

async function openTarget(t: TestFolder, recording: Recording): Promise<number> {
  const target = createSocket('udp4')
  target.on('message', (request, { port, address }) => {
    const number = request.readUInt32BE(0)
    recordArrival(recording.in, recording.sentAt.get(`in ${number}`) ?? 0, request)
    const response = Buffer.alloc(request.readUInt32BE(4))
    response.writeUInt32BE(number)
    recording.sentAt.set(`out ${number}`, Date.now())
    recording.out.sent += response.length
    target.send(response, port, address)
  })
  target.bind(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => target.close())
  return target.address().port
}

async function openCaller(port: number, { out, sentAt }: Recording): Promise<Socket> {
  const caller = createSocket('udp4')
  caller.connect(port, '127.0.0.1')
  await once(caller, 'connect')
  caller.on('error', () => {}) // no listener: the request is sent again
  caller.on('message', response =>
    recordArrival(out, sentAt.get(`out ${response.readUInt32BE(0)}`) ?? 0, response)
  )
  return caller
}

function isAnsweredInTime(number: number, caller: Socket): Promise<boolean> {
  return new Promise(resolve => {
    const receive = (response: Buffer): void => {
      if (response.readUInt32BE(0) === number) settle(true)
    }
    const settle = (isAnswered: boolean): void => {
      clearTimeout(timer)
      caller.off('message', receive)
      resolve(isAnswered)
    }
    const timer = setTimeout(() => settle(false), retryMs)
    caller.on('message', receive)
  })
}
