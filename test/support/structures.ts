// What each structural rule finds, in the notations it is met in. Secrets are drawn at run time.
import { drawMatch, seeded } from './shapes.ts'

const random = seeded(20_260_801)
const MIXED = '[A-Za-z0-9]'
const draw = (source: string): string => drawMatch(source, random)
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const password = (): string => `${draw('[A-Za-z]{4}[0-9]{2}[A-Za-z]{3}')}!${draw('[0-9]{2}')}`

/** [rule, text around `§`, how to draw the secret put there] */
export const STRUCTURE: [string, string, () => string][] = [
  [
    'private-key',
    '-----BEGIN RSA PRIVATE KEY-----§-----END RSA PRIVATE KEY-----',
    () => `\n${draw(`${MIXED}{64}`)}\n${draw(`${MIXED}{30}`)}==\n`,
  ],
  [
    'private-key',
    'k: "-----BEGIN EC PRIVATE KEY-----§-----END EC PRIVATE KEY-----\\n"',
    () => `\\n${draw(`${MIXED}{64}`)}\\n${draw(`${MIXED}{30}`)}\\n`,
  ],
  [
    'private-key',
    '-----BEGIN OPENSSH PRIVATE KEY-----§',
    () => `\n${draw(`${MIXED}{70}`)}\n${draw(`${MIXED}{70}`)}`,
  ],
  [
    'private-key',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----§-----END PGP PRIVATE KEY BLOCK-----',
    () => `\nVersion: x\n\n${draw(`${MIXED}{64}`)}\n=${draw(`${MIXED}{4}`)}\n`,
  ],
  [
    'putty-key',
    'PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\n§\nPrivate-MAC: 00',
    () => `${draw(`${MIXED}{64}`)}\n${draw(`${MIXED}{40}`)}`,
  ],
  ['url-password', 'postgres://app:§@db.internal:5432/x', password],
  ['url-password', 'git clone https://bot:§@git.internal/x.git', () => draw(`${MIXED}{14}`)],
  ['authorization-header', "-H 'Authorization: Basic §'", () => base64(`bot:${password()}`)],
  ['authorization-header', '"Authorization": "Bearer §"', () => draw(`${MIXED}{24}`)],
  ['authorization-header', 'proxy-authorization: token §', () => draw(`${MIXED}{24}`)],
  ['cookie', 'Cookie: §\n', () => `sid=${draw(`${MIXED}{26}`)}; theme=dark`],
  ['cookie', '< Set-Cookie: §\n', () => `session=${draw(`${MIXED}{26}`)}; Path=/; HttpOnly`],
  ['docker-auth', '{"auths":{"r.example.org":{"auth": "§"}}}', () => base64(`bot:${password()}`)],
  ['password', 'password: "§"', password],
  ['password', 'export DB_PASSWORD=§\n', password],
  ['password', 'Server=db;User=sa;Password=§;Encrypt=yes', password],
  ['password', 'mysql --password § db', password],
  ['password', 'machine git.internal login bot password §', password],
  ['password', '<password>§</password>', password],
  ['password', '{\\"password\\": \\"§\\"}', password],
  ['curl-user', 'curl -s -u bot:§ https://x.internal', password],
  ['command-password', 'mysql -u root -p§ app', password],
  ['command-password', "mysqldump -h db -p'§' app > dump.sql", password],
  ['command-password', 'sshpass -p § ssh -p 22 bot@host', password],
  ['command-password', 'redis-cli -h cache -a § ping', password],
  ['command-password', 'docker login -u bot -p § registry.internal', password],
  ['command-password', 'ssh-keygen -t ed25519 -N "§" -f id', password],
  ['dsn-password', 'sql.Open("mysql", "bot:§@tcp(db.internal:3306)/app?parseTime=true")', password],
  ['dsn-password', 'DSN=bot:§@unix(/run/mysqld/mysqld.sock)/app', password],
  ['dsn-password', 'dsn: bot:§@/app', password],
  ['sentry-dsn', 'SENTRY_DSN=https://§@o123.ingest.sentry.io/456', () => draw('[0-9a-f]{32}')],
  ['pgpass', 'db.internal:5432:app:bot:§\n', password],
  ['pgpass', 'before\n*:*:*:bot:§', password],
  ['password', 'variable "db_password" {\n  type = string\n  default = "§"\n}', password],
  ['password', 'network={\n  ssid="home"\n  psk="§"\n}', password],
  ['password', 'USER: bot PASS: §\n', password],
  ['password', 'PASS=§\n', password],
  [
    'signed-url',
    'https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=§',
    () => draw('[0-9a-f]{512}'),
  ],
  [
    'signed-url',
    'https://b.s3.amazonaws.com/o?X-Amz-Expires=60&X-Amz-Signature=§',
    () => draw('[0-9a-f]{64}'),
  ],
  [
    'signed-url',
    'https://storage.googleapis.com/b/o?GoogleAccessId=a&Expires=1&Signature=§&x=1',
    () => draw('[A-Za-z0-9]{80}'),
  ],
  ['azure-sas', 'https://a.blob.core.windows.net/c?sv=2022&sig=§&se=1', () => `${draw(`${MIXED}{42}`)}%3D`],
  ['assigned-secret', 'vendor_api_key = "§"', () => draw('[0-9a-f]{32}')],
  ['assigned-secret', 'export VENDOR_TOKEN=§\n', () => draw(`${MIXED}{32}`)],
  [
    'assigned-secret',
    '//registry.example.org/:_authToken=§',
    () => draw('[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'),
  ],
  ['assigned-secret', 'aws_secret_access_key = §', () => draw('[A-Za-z0-9]{20}[/+][A-Za-z0-9]{19}')],
  ['assigned-secret', 'client_secret: §', () => draw('[a-z]{3}[0-9]{3}[A-Z]{2}[0-9]{2}')],
  ['nearby-secret', 'the secret of the vendor was §', () => draw(`${MIXED}{32}`)],
]
