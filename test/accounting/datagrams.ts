// Both ends of a UDP rule. A request names the size of its response; each caller has one request under way.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { TestFolder } from '../support/test-cluster.ts'
import { newFlow, note, type Route } from './ends.ts'

const maxBytes = 1400
const headBytes = 8 // number and size of the response, 4 bytes each
const retryMs = 500 // a request without a response: the agent may have been killed

export async function openDatagrams(t: TestFolder): Promise<Route> {
  const flows = { in: newFlow(), out: newFlow() }
  const begun = new Map<string, number>() // when each datagram was sent, by its number and way
  let lastNumber = 0

  const far = createSocket('udp4')
  far.on('message', (request, { port, address }) => {
    const number = request.readUInt32BE(0)
    note(flows.in, begun.get(`in ${number}`) ?? 0, request)
    const response = Buffer.alloc(request.readUInt32BE(4))
    response.writeUInt32BE(number)
    begun.set(`out ${number}`, Date.now())
    flows.out.sent += response.length
    far.send(response, port, address)
  })
  far.bind(0, '127.0.0.1')
  await once(far, 'listening')
  t.teardown(() => far.close())

  async function caller(port: number): Promise<Socket> {
    const near = createSocket('udp4')
    near.connect(port, '127.0.0.1')
    await once(near, 'connect')
    near.on('error', () => {}) // no listener: the request is sent again
    near.on('message', response =>
      note(flows.out, begun.get(`out ${response.readUInt32BE(0)}`) ?? 0, response)
    )
    return near
  }

  /** One request and its response. Repeats it under a new number until it is answered, or `isOver`. */
  async function send(
    near: Socket,
    bytes: { readonly in: number; readonly out: number },
    isOver = () => false
  ) {
    for (let isAnswered = false; !isAnswered && !isOver(); ) {
      const number = ++lastNumber
      const request = Buffer.alloc(sized(bytes.in))
      request.writeUInt32BE(number)
      request.writeUInt32BE(sized(bytes.out), 4)
      isAnswered = await new Promise(resolve => {
        const receive = (response: Buffer): void => {
          if (response.readUInt32BE(0) === number) settle(true)
        }
        const settle = (isAnswered: boolean): void => {
          clearTimeout(timer)
          near.off('message', receive)
          resolve(isAnswered)
        }
        const timer = setTimeout(() => settle(false), retryMs)
        near.on('message', receive)
        begun.set(`in ${number}`, Date.now())
        flows.in.sent += request.length
        near.send(request)
      })
    }
  }

  return {
    target: far.address().port,
    ...flows,
    async transfer(port, bytes) {
      const near = await caller(port)
      const left = { in: Math.min(bytes.in, 1 << 16), out: Math.min(bytes.out, 1 << 16) }
      while (left.in > 0 || left.out > 0) {
        await send(near, left)
        left.in -= maxBytes
        left.out -= maxBytes
      }
      near.close()
    },
    async pour(port) {
      const near = await caller(port)
      let isOver = false
      async function sendOn(): Promise<void> {
        while (!isOver) await send(near, { in: maxBytes, out: maxBytes }, () => isOver)
        near.close()
      }
      const over = sendOn()
      return {
        over,
        stop() {
          isOver = true
        }
      }
    }
  }
}

const sized = (bytes: number): number => Math.min(Math.max(bytes, headBytes), maxBytes)
