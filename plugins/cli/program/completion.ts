// Prints a script with the names and options of all commands, which the shell reads once. The script runs sluice only to
// complete values, such as client names.
import { Type } from '../../../kernel/cli/args.ts'
import { type Command, defineCommand } from '../../../kernel/cli/command.ts'
import type { Described } from './installed-commands.ts'
import { flagOf, optionsOf, typeOf } from './program.ts'

type Shell = 'bash' | 'zsh' | 'fish'

/** Returns the command `completion` for these commands and itself. */
export function completion(commands: readonly Described[]): Command {
  const self: Command = defineCommand({
    name: 'completion',
    summary: 'Print a script that completes commands in a shell.',
    args: Type.Object({
      shell: Type.Union([Type.Literal('bash'), Type.Literal('zsh'), Type.Literal('fish')], {
        description: 'bash, zsh or fish: eval "$(sluice completion bash)"; sluice completion fish | source.'
      })
    }),
    positional: ['shell'],
    needs: 'nothing',
    async run({ args, print }) {
      print.text(scripts[args.shell](tableOf([...commands, self])))
    }
  })
  return self
}

interface Entry {
  readonly name: string // '': the program; 'client': a group; 'client list': a command
  readonly words: readonly string[]
  readonly values?: readonly Values[]
}

/** Where an argument's values come from: a list of the API and a property of its rows. */
interface Values {
  readonly place: string // a shell pattern for the argument's index, from 0; or an option
  readonly list: readonly [path: string, property: string]
}

/** Returns the words that may follow: commands after a group, options and choices after a command. */
function tableOf(commands: readonly Described[]): Entry[] {
  const groups = new Map<string, Set<string>>([['', new Set(['--config', '--help', '--version'])]])
  for (const { name } of commands)
    for (const [at, word] of name.split(' ').entries()) {
      const group = name.split(' ').slice(0, at).join(' ')
      groups.set(group, (groups.get(group) ?? new Set()).add(word))
    }
  return [
    ...[...groups].map(([name, words]) => ({ name, words: [...words].sort() })),
    ...commands.flatMap(command =>
      namesOf(command).map(name => ({
        name,
        words: [...choicesOf(command), ...optionsOf(command), '--help'],
        values: valuesOf(command)
      }))
    )
  ]
}

/** Returns the command's name and its aliases. Aliases have completions but are not offered. */
const namesOf = ({ name, aliases = [] }: Described): string[] => [
  name,
  ...aliases.map(alias => [...name.split(' ').slice(0, -1), alias].join(' '))
]

/** Returns the choices of positional arguments that are a union of literals. */
const choicesOf = ({ args, positional = [] }: Described): string[] =>
  positional.flatMap(name => {
    const { anyOf = [] } = { ...args.properties[name] } as { anyOf?: readonly object[] } // TypeBox types it for unions only
    return anyOf.flatMap(choice => ('const' in choice ? [String(choice.const)] : []))
  })

function valuesOf({ args, positional = [] }: Described): Values[] {
  return Object.entries(args.properties).flatMap(([name, schema]) => {
    const { values: list } = schema as { values?: Values['list'] } // our schema keyword
    const at = positional.indexOf(name)
    const place = typeOf(schema) === 'array' ? '[0-9]*' : String(at) // an array is the last argument
    return list ? [{ place: at < 0 ? flagOf(name) : place, list }] : []
  })
}

/** Returns shell cases by command and argument. */
const valueCases = (entries: readonly Entry[]): string =>
  entries
    .flatMap(({ name, values = [] }) =>
      values.map(({ place, list }) => `      '${name}:'${place}) values='${list.join(' ')}' ;;`)
    )
    .join('\n')

/** Returns shell cases by the words before the cursor, without options. If none matches, the shell completes files. */
const posix = (entries: readonly Entry[]): string =>
  entries.map(({ name, words }) => `    '${name}') words='${words.join(' ')}' ;;`).join('\n')

/** Returns the groups within groups. */
const subgroupsOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ name }) =>
    name.includes(' ') && entries.some(entry => entry.name.startsWith(`${name} `)) ? name : []
  )

/** Returns shell cases that add the third word of a command to its name. */
const subgroups = (entries: readonly Entry[]): string =>
  subgroupsOf(entries)
    .map(name => `          '${name}') line="$line $word" ;;`)
    .join('\n')

/**
 * Values come from a server that may be hostile: the script reads them line by line, compares them as text and quotes them.
 * No word is expanded or evaluated. Variables are named so that none is special in zsh, where `path` is PATH.
 */
const bash = (entries: readonly Entry[]): string => `_sluice_offer() {
  local line quoted
  while IFS= read -r line; do
    case $line in '') continue ;; "$2"*) ;; *) continue ;; esac
    case $line in -*) case $2 in -*) ;; *) continue ;; esac ;; esac
    printf -v quoted %q "$line"
    case $1 in ?) # inside quotes
      case $line in *[!a-zA-Z0-9_.:@%+,/=\\ -]*) continue ;; esac
      quoted=$line ;;
    esac
    COMPREPLY+=("$quoted")
  done
}
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line='' words='' word before='' values='' count=0 skip plain quote='' newline=$'\\n'
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case $before:$word in
      *:=) continue ;;
      --config:*|*:-*) ;;
      *)
        case $line in
${subgroups(entries)}
          *)
            count=$((count + 1))
            case $count in 1) line=$word ;; 2) line="$line $word" ;; esac ;;
        esac ;;
    esac
    before=$word
  done
  case $before in --config) return ;; esac
  case $line in
${posix(entries)}
    *) case \${line%% *} in
${posix(entries.filter(({ name }) => name !== '' && !name.includes(' '))).replaceAll(/^/gm, '  ')}
      esac ;;
  esac
  case $line in *' '*) skip=2 ;; *) skip=1 ;; esac
  for word in "$before" "$((count - skip))"; do
    case $line:$word in
${valueCases(entries)}
    esac
    case $values in ?*) break ;; esac
  done
  case $cur in [\\"\\']*) quote=\${cur:0:1} plain=\${cur:1} ;; *) plain=\${cur//\\\\/} ;; esac
  _sluice_offer "" "$plain" <<< "\${words// /$newline}"
  case $cur:$values in
    -*|*:) ;;
    *) _sluice_offer "$quote" "$plain" <<< "$(sluice complete "\${values% *}" "\${values##* }" 2> /dev/null)" ;;
  esac
}
complete -o bashdefault -o default -F _sluice sluice`

/** Returns the last words of groups next to a command: of `client key` for `client list`. */
const otherGroups = (name: string, entries: readonly Entry[]): string[] => {
  const words = name.split(' ')
  if (words.length !== 2) return []
  return subgroupsOf(entries).flatMap(group => {
    const [first, last = ''] = group.split(' ')
    return first === words[0] && last !== words[1] ? last : []
  })
}

const takesPath = /^--(.+-)?(config|cacert|file|dir)$/

const scripts: Readonly<Record<Shell, (entries: readonly Entry[]) => string>> = {
  bash,
  zsh: entries => `autoload -Uz bashcompinit && bashcompinit\n${bash(entries)}`,
  fish: entries =>
    entries
      .flatMap(({ name, words, values = [] }) => {
        const isGroup = entries.some(entry => entry.name.startsWith(`${name} `))
        const absent = isGroup ? [words.join(' ')] : otherGroups(name, entries) // the first: a command was chosen
        const seen = [
          ...name.split(' ').flatMap(word => (word === '' ? [] : `__fish_seen_subcommand_from ${word}`)),
          ...absent.map(words => `not __fish_seen_subcommand_from ${words}`)
        ]
        const condition = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ')
        const hasWords = values.length > 0 || words.some(word => !word.startsWith('-')) // else an argument can be a file
        return [
          ...(hasWords ? [`complete -c sluice -n '${condition}' -f`] : []),
          ...words.map(word =>
            word.startsWith('--')
              ? `complete -c sluice -n '${condition}' -l ${word.slice(2)}${takesPath.test(word) ? ' -rF' : ''}`
              : `complete -c sluice -n '${condition}' -a ${word}`
          ),
          ...values.map(({ place, list }) => {
            const option = place.startsWith('--') ? ` -l ${place.slice(2)} -x` : ''
            return `complete -c sluice -n '${condition}'${option} -a '(sluice complete ${list.join(' ')} 2> /dev/null)'`
          })
        ]
      })
      .join('\n')
}
