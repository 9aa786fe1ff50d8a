import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { index } from '../../config/command-index.ts'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { composePlugin } from './compose-plugin.ts'
import { isKind, type Kind, parts } from './scaffold-parts.ts'

const template = join(import.meta.dirname, 'template')

export const kinds = Object.keys(parts).filter(isKind)

/**
 * Creates a plugin with all of these kinds from the templates. Returns the paths of its files. Throws Fault if the folder
 * is not empty.
 */
export function scaffold(name: string, dir: string, given: readonly Kind[] = ['rule-field']): string[] {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) || name.length > 32)
    throw new Fault(
      wrongUsage,
      `${name} is not a valid plugin name: write it like rate-limit, with at most 32 characters`
    )
  if (name === 'kernel' || index.plugins.includes(name))
    throw new Fault(wrongUsage, `${name} is a part of sluice; choose another name, such as acme-${name}`)
  if (existsSync(dir) && (!statSync(dir).isDirectory() || readdirSync(dir).length > 0))
    throw new Fault(wrongUsage, `${dir} is not empty; give an empty or new folder`)
  try {
    mkdirSync(dir, { recursive: true })
  } catch (cause) {
    throw new Fault(wrongUsage, `${dir} cannot be created: ${reasonOf(cause)}`, { cause })
  }
  const placeholders: Readonly<Record<string, string>> = {
    name,
    snake: name.replaceAll('-', '_'),
    pascal: name.replaceAll(/(^|-)(.)/g, (_, _dash, letter: string) => letter.toUpperCase()),
    sluice: ownVersion()
  }
  const texts = { ...readTemplates(['common', ...given]), ...composePlugin(given.map(kind => parts[kind])) }
  return Object.entries(texts)
    .map(([from, text]) => {
      const path = fillIn(from, placeholders)
      mkdirSync(join(dir, dirname(path)), { recursive: true })
      writeFileSync(join(dir, path), fillIn(text, placeholders))
      return path
    })
    .sort()
}

/** Returns the texts of the templates in these folders by path. */
const readTemplates = (folders: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    folders
      .map(folder => join(template, folder))
      .flatMap(folder =>
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter(entry => entry.isFile())
          .map(entry => join(entry.parentPath, entry.name))
          .map(file => [file.slice(folder.length + 1).replace(/\.txt$/, ''), readFileSync(file, 'utf8')])
      )
  )

const fillIn = (text: string, placeholders: Readonly<Record<string, string>>): string =>
  text.replaceAll(/__(\w+?)__/g, (all, key) => placeholders[key] ?? all)
