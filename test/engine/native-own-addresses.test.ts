// The native engine on a host with changing addresses.
import { join } from 'node:path'
import t from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { compileLibrary } from './compile-c.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const folder = t.testdir()
const library = join(folder, 'list-addresses.so')
const isCompiled = compileLibrary('list-addresses.c', library)

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else
  t.test('addresses are listed once, not for each dial to an own port number', async t => {
    const script = join(import.meta.dirname, 'native-own-addresses.ts')
    const env = { LD_PRELOAD: library, LISTS: join(folder, 'lists') }
    t.same(await runInOwnNetwork(t, script, env), {
      foreign: { lists: 1, rejected: { no_target: 50 } },
      own: { lists: 2, rejected: { no_target: 50, loop: 1 } }
    })
  })
