// `sluice plugin new`: a package that passes its own tests before anything is written in it.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { plugins as builtin } from '../../config/plugins.ts'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { ownVersion } from '../../kernel/base/version.ts'

const template = join(import.meta.dirname, 'template')

/** Answers the files that it has written. What is there already is not touched. */
export function scaffold(name: string, dir: string): string[] {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 32)
    throw new Fault(
      wrongUsage,
      `${name} is no plugin's name: write it like rate-limit, at most 32 characters`
    )
  if (name === 'kernel' || Object.hasOwn(builtin, name))
    throw new Fault(wrongUsage, `${name} is a part of sluice; take another name, like acme-${name}`)
  if (existsSync(dir) && (!statSync(dir).isDirectory() || readdirSync(dir).length > 0))
    throw new Fault(wrongUsage, `${dir} is not empty; give an empty folder, or one that is not there`)
  try {
    mkdirSync(dir, { recursive: true })
  } catch (cause) {
    throw new Fault(wrongUsage, `${dir} cannot be made: ${reasonOf(cause)}`, { cause })
  }
  const words: Readonly<Record<string, string>> = {
    name,
    snake: name.replaceAll('-', '_'),
    pascal: name.replaceAll(/(^|-)(.)/g, (_, _dash, letter: string) => letter.toUpperCase()),
    sluice: ownVersion()
  }
  return readdirSync(template, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => {
      const from = join(entry.parentPath, entry.name)
      const path = filledIn(from.slice(template.length + 1).replace(/\.txt$/, ''), words)
      const text = filledIn(readFileSync(from, 'utf8'), words)
      mkdirSync(join(dir, dirname(path)), { recursive: true })
      writeFileSync(join(dir, path), text)
      return path
    })
    .sort()
}

const filledIn = (text: string, words: Readonly<Record<string, string>>): string =>
  text.replaceAll(/__(\w+?)__/g, (all, word) => words[word] ?? all)
