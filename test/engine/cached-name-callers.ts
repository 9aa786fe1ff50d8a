// A thread with a target, and ten callers one after the other. It sends the target's port, receives the rule's, and wakes
// the thread that waits for `done`.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

const { done } = workerData as { done: Int32Array } // of the test
const server = createServer(socket => {
  socket.on('error', () => {}) // the engine that stops resets what is still open
  socket.end('answer')
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
parentPort?.postMessage((server.address() as AddressInfo).port) // a TCP address
parentPort?.once('message', async (port: number) => {
  for (let call = 0; call < 10; call++) {
    const caller = connect(port, '127.0.0.1')
    await once(caller, 'data')
    caller.destroy()
  }
  Atomics.store(done, 0, 1)
  Atomics.notify(done, 0)
})
