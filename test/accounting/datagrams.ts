// Both ends of a UDP rule: a question says how long its answer is to be, and nobody has two under way.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Ground } from '../support/test-cluster.ts'
import { newFlow, note, type Route } from './ends.ts'

const most = 1400
const headBytes = 8 // number, bytes of the answer, both of 4
const againMs = 500 // a question whose answer has not come: whoever is between may be gone

export async function openDatagrams(t: Ground): Promise<Route> {
  const flows = { in: newFlow(), out: newFlow() }
  const begun = new Map<string, number>() // when each datagram was sent, by its number and way
  let lastNumber = 0

  const far = createSocket('udp4')
  far.on('message', (question, { port, address }) => {
    const number = question.readUInt32BE(0)
    note(flows.in, begun.get(`in ${number}`) ?? 0, question)
    const answer = Buffer.alloc(question.readUInt32BE(4))
    answer.writeUInt32BE(number)
    begun.set(`out ${number}`, Date.now())
    flows.out.sent += answer.length
    far.send(answer, port, address)
  })
  far.bind(0, '127.0.0.1')
  await once(far, 'listening')
  t.teardown(() => far.close())

  async function caller(port: number): Promise<Socket> {
    const near = createSocket('udp4')
    near.connect(port, '127.0.0.1')
    await once(near, 'connect')
    near.on('error', () => {}) // nobody listens: it is asked again
    near.on('message', answer => note(flows.out, begun.get(`out ${answer.readUInt32BE(0)}`) ?? 0, answer))
    return near
  }

  /** One question and its answer. Asked again under another number until it is answered, or `isOver`. */
  async function ask(
    near: Socket,
    bytes: { readonly in: number; readonly out: number },
    isOver = () => false
  ) {
    for (let isAnswered = false; !isAnswered && !isOver(); ) {
      const number = ++lastNumber
      const question = Buffer.alloc(sized(bytes.in))
      question.writeUInt32BE(number)
      question.writeUInt32BE(sized(bytes.out), 4)
      isAnswered = await new Promise(resolve => {
        const hear = (answer: Buffer): void => {
          if (answer.readUInt32BE(0) === number) settle(true)
        }
        const settle = (is: boolean): void => {
          clearTimeout(timer)
          near.off('message', hear)
          resolve(is)
        }
        const timer = setTimeout(() => settle(false), againMs)
        near.on('message', hear)
        begun.set(`in ${number}`, Date.now())
        flows.in.sent += question.length
        near.send(question)
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
        await ask(near, left)
        left.in -= most
        left.out -= most
      }
      near.close()
    },
    async pour(port) {
      const near = await caller(port)
      let isOver = false
      async function askOn(): Promise<void> {
        while (!isOver) await ask(near, { in: most, out: most }, () => isOver)
        near.close()
      }
      const over = askOn()
      return {
        over,
        stop() {
          isOver = true
        }
      }
    }
  }
}

const sized = (bytes: number): number => Math.min(Math.max(bytes, headBytes), most)
