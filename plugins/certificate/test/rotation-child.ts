// Stages a certificate in a data directory, or activates it.
import { join } from 'node:path'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { openCertificateStore } from '../certificate-store.ts'
import plugin from '../plugin.ts'
import { Rotation } from '../rotation.ts'

const [dir = '', step] = process.argv.slice(2)
process.umask(0o077)
const store = await openStore(join(dir, 'sluice.db'), [kernelStore, plugin])
const put = () => {}
const certificates = await openCertificateStore({
  dir,
  store,
  log: { debug: put, info: put, warn: put, error: put }
})
const rotation = new Rotation({ certificates, settings: {}, store })
if (step === 'stage') await rotation.reissue({ names: [] }, 'rotate')
else await rotation.activate('careful')
await store.close()
