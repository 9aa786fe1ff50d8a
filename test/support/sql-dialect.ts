// Lists SQL that differs between SQLite and PostgreSQL, with an example and a replacement for each.

interface Word {
  readonly pattern: RegExp
  readonly example: string
  readonly instead: string
}

const word = (pattern: RegExp, example: string, instead: string): Word => ({ pattern, example, instead })
const driver = 'a function of kernel/store/sqlite/dialect.ts'

export const words: readonly Word[] = [
  word(/\bautoincrement\b/i, 'id integer primary key autoincrement', 'an id that the code generates'),
  word(/\bwithout\s+rowid\b|\b_?rowid_?\b|last_insert_rowid/i, 'select rowid from a', 'the primary key'),
  word(
    /\b(?:insert|update)\s+or\s+\w+\s+\w+|\breplace\s+into\b/i,
    'insert or ignore into a values (1)',
    'on conflict do'
  ),
  word(/\bsqlite_\w+/, 'select 1 from sqlite_master', "the platform's schema helper"),
  word(/\bvacuum\b/i, 'vacuum into ?', driver),
  word(/\bpragma\b/i, 'pragma quick_check', driver),
  word(/\battach\s+database\b/i, 'attach database ? as old', driver),
  word(/\btotal_changes\(|select\s+changes\(/i, 'select total_changes()', driver),
  word(
    /\bjsonb?_\w+\(|->>/i,
    'where id in (select value from json_each(?))',
    '$in of the entity manager, or columns'
  ),
  word(/(?<![.\w])(?:ifnull|iif)\(/i, 'ifnull(a, 0)', 'coalesce, or case when'),
  word(/\b(?:strftime|unixepoch|julianday|datetime)\(/i, "strftime('%s', 'now')", 'a time of the clock'),
  word(/\b(?:glob|like|regexp)\s+(?:\?|'|\$)/i, "name like 'a%'", 'a range: >= and <'),
  word(/\bcollate\b/i, 'order by name collate nocase', 'byte order, which all columns have'),
  word(/\b(?:select|,)\s+total\(|\bgroup_concat\(/i, 'select total(a)', 'a sum of reals, or code'),
  word(/(?<![.\w])(?:max|min)\((?:[^()]|\([^()]*\))*,/i, 'seq = max(seq, coalesce(?, 0))', 'case when'),
  word(/(?<![.\w])(?:max|min)\((?:max|min)\(/i, 'select max(max(a), max(b))', 'code'),
  word(
    /(?<![.\w])sum\((?:not |exists |[^()]*(?:=|<|>))/i,
    "select sum(state = 'active')",
    'count(*) filter (where ...)'
  ),
  word(/\bis\s+not\s+\w+\.\w+\b/i, 'a.b is not c.d', 'is distinct from'),
  word(/\bcross\s+join\s+\w+(?:\s+\w+)?\s+on\b/i, 'from a cross join b on b.c = a.c', 'where'),
  word(
    /\b(?:order|group) by\s[^`'"]*\buser\b/i,
    'order by user',
    'the column: user is a keyword of PostgreSQL'
  ),
  word(/\bas [a-z]+[A-Z]\w*(?=,|\s+from\b|\s*$)/m, 'select rule_id as ruleId from a', 'as "ruleId"'),
  word(/(?<!\w)x'(?:[0-9a-f]{2})*'/i, "values (x'00')", 'a parameter'),
  word(/\blimit\s+-1\b/i, 'limit -1 offset 5', 'offset alone'),
  word(
    /\b(?:from|join)\s*\(\s*select\b(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)\s*(?:where\b|order\b|limit\b|\)|`|')/i,
    'from (select a from b) where a > 1',
    'a name after the select'
  )
]

/** Returns the SQLite-only parts of the code. `booleans` lists columns that are not numbers on PostgreSQL. */
export function dialectIn(code: string, booleans: readonly string[]): string[] {
  const flags = word(
    new RegExp(`\\b(?:${booleans.join('|')})\\s*(?:=|<>)\\s*[01]\\b`, 'i'),
    `${booleans[0]} = 0`,
    'the column alone, or not and the column'
  )
  const text = code.replaceAll(/^(?:import|export)\b[^'"=]*?\bfrom '[^']*'/gm, '')
  return [...words, flags].flatMap(({ pattern, instead }) => {
    const [found] = pattern.exec(text) ?? []
    return found === undefined ? [] : [`${found}: write ${instead}`]
  })
}
