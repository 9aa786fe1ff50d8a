// Has a server collect garbage on SIGUSR2, so that its memory shows what it keeps: NODE_OPTIONS='--import collect-on-signal.ts'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
process.on('SIGUSR2', () => collect())
