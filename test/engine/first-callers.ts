// A thread that calls a port before it is open: [port, hellos by label] in, the answers by label out.
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

const [port, hellos] = workerData as readonly [number, Readonly<Record<string, Uint8Array>>]
const callersPerName = 8
const answersPerCaller = 10

/** Returns the first bytes of the answer, 'reset', or 'closed' while the port is not open. */
const ask = (hello: Uint8Array): Promise<string> =>
  new Promise<string>(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write(hello))
    socket.once('data', chunk => resolve(chunk.toString('latin1').split(':')[0] ?? ''))
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'closed' : 'reset')
    )
    socket.once('close', () => resolve('reset'))
  })

async function answersTo(hello: Uint8Array): Promise<string[]> {
  const answers: string[] = []
  while (answers.length < answersPerCaller) {
    const answer = await ask(hello)
    if (answer === 'closed') parentPort?.postMessage('closed')
    else answers.push(answer)
  }
  return answers
}

const found = Object.entries(hellos).map(async ([label, hello]) => {
  const all = await Promise.all(Array.from({ length: callersPerName }, () => answersTo(hello)))
  return [label, [...new Set(all.flat())]] as const
})
parentPort?.postMessage(Object.fromEntries(await Promise.all(found)))
process.exit() // the sockets of answered callers
