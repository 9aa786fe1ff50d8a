// Restores the file of the first argument into the directory of the second.
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import certificate from '../../certificate/plugin.ts'
import control from '../../control/plugin.ts'
import servers from '../../servers/plugin.ts'
import { restore } from '../restore.ts'

const [file = '', dataDir = ''] = process.argv.slice(2)
process.umask(0o077)
await restore({
  file,
  dataDir,
  oldDir: undefined,
  revocations: [],
  stores: [kernelStore, certificate, servers, control],
  version: '2.0.0',
  now: Date.now()
})
