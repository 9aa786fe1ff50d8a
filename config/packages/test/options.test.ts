import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { readOptions } from '../options.ts'

const chosen = (...argv: string[]) => {
  const options = readOptions(argv)
  if ('text' in options) throw new Error(options.text)
  return options
}
const refusal = (...argv: string[]): string => {
  const options = readOptions(argv)
  return 'text' in options && options.exit === 2 ? options.text : ''
}

t.test('kinds are repeated or separated by commas, and each is made once', async t => {
  t.same(chosen('--kind', 'deb', '--kind', 'tarball').kinds, ['tarball', 'deb'])
  t.same(chosen('--kind=deb,rpm', '--kind', 'deb').kinds, ['deb', 'rpm'])
  t.same(chosen().kinds, ['npm', 'tarball', 'deb', 'rpm', 'image'])
  t.equal(chosen().machines.length, 4)
  t.match(chosen('--target', 'linux-x64', '--build=no', '--native=local'), {
    machines: [{ name: 'linux-x64' }],
    builds: false,
    native: 'local'
  })
})

t.test('unknown values and options are refused with the known ones', async t => {
  t.match(refusal('--kind', 'apk'), /--kind must be one of npm, tarball, deb, rpm, image, got "apk"/)
  t.match(refusal('--kind', 'deb,'), /got ""/)
  t.match(refusal('--target', 'linux'), /--target must be one of linux-x64, .*, got "linux"/)
  t.match(refusal('--build', 'maybe'), /--build must be one of yes, no/)
  t.match(refusal('--kinds', 'deb'), /--kinds[\s\S]*--help/)
  t.match(refusal('deb'), /deb[\s\S]*--help/)
})

t.test('--help lists the options, and an unknown kind ends with exit code 2', async t => {
  const main = (...argv: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../main.ts'), ...argv], { encoding: 'utf8' })

  t.match(main('--help'), { status: 0, stdout: /--kind KIND +npm, tarball, deb, rpm, image/, stderr: '' })
  t.match(main('--kind', 'apk'), { status: 2, stdout: '', stderr: /^--kind must be one of/ })
})
