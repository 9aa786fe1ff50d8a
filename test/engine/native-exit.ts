// node native-exit.ts exit|throw|terminate|leave: ends a process, or a thread of it, while a native engine has traffic.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { freePort } from '../support/ports.ts'
import { limited } from './meter-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

interface Ports {
  readonly from: number // listen port
  readonly port: number // of the target
}

async function openForwarder({ from, port }: Ports): Promise<void> {
  const native = nativeUnderTest()
  if (!native.ok) throw new Error(native.reason)
  const engine = native.openEngine({ bind: ['127.0.0.1'], threads: 2, onEvents() {} })
  engine.setMeter(1, limited({ bytesOut: { perSec: 1e9, burst: 1e6 } }))
  await engine.open({
    id: 1,
    owner: 'ann',
    protocol: 'tcp',
    from,
    to: from,
    name: null,
    fallback: false,
    targets: [{ host: '127.0.0.1', port }],
    preferIpv6: false,
    balance: null,
    probeMs: 1_000,
    meters: [1],
    idleMs: 60_000,
    unansweredMs: 0,
    flowCap: 1,
    reportEnds: false,
    dialFrom: null,
    firstRead: null,
    preamble: null,
    replyCap: null,
    diverts: [],
    source: null,
    addressGuards: [],
    sourceLimits: [],
    target: []
  })
}

/** Opens eight connections; returns when bytes move both ways on all of them. */
async function openTraffic(from: number): Promise<void> {
  const chunk = Buffer.alloc(256 * 1024)
  for (let i = 0; i < 8; i++) {
    const caller = connect({ port: from, host: '127.0.0.1' })
    caller.on('error', () => {})
    const more = () => {
      while (!caller.destroyed && caller.write(chunk));
    }
    caller.on('drain', more)
    more()
    await once(caller, 'data')
  }
}

async function run(how: string | undefined): Promise<void> {
  const server = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const ports: Ports = { from: await freePort(), port: (server.address() as AddressInfo).port } // a TCP address
  if (how === 'exit' || how === 'throw') {
    await openForwarder(ports)
    await openTraffic(ports.from)
    if (how === 'exit') process.exit(0)
    throw new Error('thrown during traffic')
  }
  const worker = new Worker(new URL(import.meta.url), { workerData: ports })
  await once(worker, 'message')
  await openTraffic(ports.from)
  if (how === 'terminate') await worker.terminate()
  else {
    worker.postMessage('leave')
    await once(worker, 'exit')
  }
  process.exit(0)
}

if (isMainThread) await run(process.argv[2])
else {
  await openForwarder(workerData)
  parentPort?.once('message', () => process.exit(0))
  parentPort?.postMessage('open')
}
