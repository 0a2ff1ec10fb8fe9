// From the text of PTX to instructions. What is not known here is refused with its line: nothing is skipped that could
// mean something.
#include <cstdlib>
#include <cstring>

#include "ptx.h"

namespace {
struct Token {
  std::string text;
  u32 line;
};

bool in_word(char c) { return isalnum((unsigned char)c) || strchr("_$%.", c); }

std::vector<Token> tokens(const char *p) {
  std::vector<Token> all;
  u32 line = 1;
  while (*p) {
    if (*p == '\n') line++;
    if (isspace((unsigned char)*p)) {
      p++;
    } else if (p[0] == '/' && p[1] == '/') {
      p += strcspn(p, "\n");
    } else if (*p == '"') {
      p = strchr(p + 1, '"') + 1;
    } else {
      const char *from = p++;
      while (in_word(*from) && in_word(*p)) p++;
      all.push_back({std::string(from, p), line});
    }
  }
  return all;
}

// Operand is one as it is written; a list {a, b} is several.
struct Operand {
  char kind;       // of a register p h w d, of a number i, of an address [, of a label or what else has a name l
  std::string text;
  s64 value = 0;   // of a number, or what is added to an address
};

class Reader {
 public:
  explicit Reader(const char *text) : all(tokens(text)) { all.push_back({"", all.empty() ? 0 : all.back().line}); }

  std::map<std::string, std::shared_ptr<Program>> module() {
    std::map<std::string, std::shared_ptr<Program>> programs;
    while (!peek().empty()) {
      std::string word = next();
      if (word == ".version" || word == ".target" || word == ".address_size") next();
      else if (word == ".extern") shared();
      else if (word == ".visible") entry(), programs[program->name] = program;
      else bad("unknown directive " + word);
    }
    return programs;
  }

 private:
  std::vector<Token> all;
  size_t at = 0;
  std::string shared_name, param_name;
  std::shared_ptr<Program> program;
  std::map<std::string, int> registers; // slots
  std::map<std::pair<char, u64>, int> constants;
  std::map<std::string, u32> labels;
  std::vector<std::string> targets; // of each instruction

  const std::string &peek(size_t n = 0) { return all[std::min(at + n, all.size() - 1)].text; }
  std::string next() { return all[std::min(at++, all.size() - 1)].text; }
  [[noreturn]] void bad(const std::string &what) {
    throw Fault{BAD_PTX, "line " + std::to_string(all[std::min(at, all.size() - 1)].line) + ": " + what};
  }
  void want(const char *text) {
    if (peek() != text) bad("want " + std::string(text) + ", got " + peek());
    at++;
  }
  u64 number() { return strtoull(next().c_str(), nullptr, 0); }

  // .extern .shared .align 16 .b8 shared[];
  void shared() {
    want(".shared"), want(".align"), number(), want(".b8");
    shared_name = next();
    want("["), want("]"), want(";");
  }

  // .visible .entry name(.param .align 8 .b8 name_param_0[56]) .maxntid 256, 1, 1 .minnctapersm 2 { ... }
  void entry() {
    program = std::make_shared<Program>();
    registers.clear(), constants.clear(), labels.clear(), targets.clear();
    want(".entry");
    program->name = next();
    want("("), want(".param"), want(".align"), number(), want(".b8");
    param_name = next();
    want("["), program->argument = number(), want("]"), want(")");
    want(".maxntid"), number(), want(","), number(), want(","), number();
    if (peek() == ".minnctapersm") next(), number();
    body();
    finish();
  }

  void body() {
    want("{");
    for (int depth = 1; depth > 0;) {
      if (peek() == "{") depth++, at++;
      else if (peek() == "}") depth--, at++;
      else if (peek() == ".reg") declare();
      else if (peek() == ".pragma") at++, want(";");
      else if (peek(1) == ":") label();
      else instruction();
    }
  }

  void label() {
    labels[next()] = program->ops.size();
    at++;
  }

  // .reg .b32 %r<69>;
  void declare() {
    at++;
    std::string type = next(), name = next();
    want("<");
    u64 count = number();
    want(">"), want(";");
    char kind = type == ".pred" ? 'p' : type == ".b16" ? 'h' : type == ".b32" ? 'w' : type == ".b64" ? 'd' : 0;
    if (!kind) bad("registers of type " + type);
    for (u64 i = 0; i < count; i++) registers[kind + name + std::to_string(i)] = program->slots++;
  }

  int find(const std::string &name, char *kind) {
    for (char k : {'w', 'd', 'p', 'h'}) {
      auto i = registers.find(k + name);
      if (i == registers.end()) continue;
      *kind = k;
      return i->second;
    }
    return -1;
  }

  // special gives a register that is the machine's a slot, and returns its kind.
  char special(const std::string &name) {
    char kind = name == "%clock64" ? 'd' : 'w';
    if (name != "%tid.x" && name != "%ctaid.x" && name != "%clock64") bad("unknown register " + name);
    if (registers.emplace(kind + name, program->slots).second) program->slots++;
    return kind;
  }

  int constant(char kind, u64 value) {
    auto i = constants.emplace(std::make_pair(kind, value), program->slots);
    if (i.second) program->constants.push_back({(u16)program->slots++, kind, value});
    return i.first->second;
  }

  bool is_number(const std::string &text) { return text == "-" || isdigit((unsigned char)text[0]); }
  s64 signed_number() {
    bool minus = peek() == "-";
    if (minus) at++;
    s64 value = number();
    return minus ? -value : value;
  }

  Operand operand() {
    if (peek() == "[") return address();
    if (is_number(peek())) return {'i', "", signed_number()};
    Operand o{'l', next()};
    if (o.text[0] != '%') return o;
    if (find(o.text, &o.kind) < 0) o.kind = special(o.text);
    return o;
  }

  // [%rd1+-40], [name+8], [%r3]
  Operand address() {
    at++;
    Operand o{'[', next()};
    if (peek() == "+") at++, o.value = signed_number();
    want("]");
    return o;
  }

  // operands reads to the semicolon; those in front of the first comma outside of braces are the first list.
  std::vector<std::vector<Operand>> operands() {
    std::vector<std::vector<Operand>> lists;
    while (peek() != ";") {
      std::vector<Operand> list;
      bool braces = peek() == "{";
      if (braces) at++;
      list.push_back(operand());
      while (peek() == "|" || (braces && peek() == ",")) at++, list.push_back(operand());
      if (braces) want("}");
      lists.push_back(list);
      if (peek() != ";") want(",");
    }
    at++;
    return lists;
  }

  void instruction() {
    Op op;
    op.line = all[at].line;
    std::string target;
    if (peek() == "@") guard(op);
    std::string name = next();
    std::vector<std::vector<Operand>> lists = operands();
    for (const Form &f : forms())
      if (name == f.name && fit(f, lists, op, &target)) {
        op.form = &f;
        program->ops.push_back(op), targets.push_back(target);
        return;
      }
    at--;
    bad("no such instruction here: " + name);
  }

  void guard(Op &op) {
    at++;
    if ((op.unless = peek() == "!")) at++;
    char kind = 0;
    op.guard = find(next(), &kind);
    if (kind != 'p') bad("a guard that is no predicate");
  }

  // fit gives an instruction its slots where the operands have the kinds of the form.
  bool fit(const Form &f, const std::vector<std::vector<Operand>> &lists, Op &op, std::string *target) {
    std::string want = f.shape;
    size_t colon = want.find(':');
    std::vector<Operand> flat;
    for (auto &list : lists) flat.insert(flat.end(), list.begin(), list.end());
    if (flat.size() != want.size() - 1) return false;
    want.erase(colon, 1);
    op.to.clear(), op.from.clear();
    // A store's address is written first, and so is its shape: nothing but operands.
    for (size_t i = 0; i < flat.size(); i++) {
      if (want[i] == 'l') {
        *target = flat[i].text;
        continue;
      }
      int slot = slot_of(f, want[i], flat[i], op, i < colon);
      if (slot < 0) return false;
      (i < colon ? op.to : op.from).push_back(slot);
    }
    return true;
  }

  int slot_of(const Form &f, char want, const Operand &o, Op &op, bool result) {
    char kind = 0;
    if (want == '[') {
      if (o.kind != '[') return -1;
      op.offset = o.value;
      return base(f.address, o.text);
    }
    if (o.kind == 'i') return result ? -1 : constant(want, o.value);
    if (o.kind == 'l') return result ? -1 : base(want, o.text);
    if (o.kind != want) return -1;
    return find(o.text, &kind);
  }

  // base is a register or the name of a place in memory.
  int base(char want, const std::string &name) {
    char kind = 0;
    if (name == param_name && want == 'd') return constant('d', 0);
    if (name == shared_name && want == 'w') return constant('w', SHARED_BASE);
    int slot = find(name, &kind);
    return kind == want ? slot : -1;
  }

  void finish() {
    for (size_t i = 0; i < targets.size(); i++) {
      if (targets[i].empty()) continue;
      auto to = labels.find(targets[i]);
      if (to == labels.end()) bad("no label " + targets[i]);
      program->ops[i].target = to->second;
    }
    auto slot = [&](const char *name) { return registers.count(name) ? registers[name] : -1; };
    program->tid = slot("w%tid.x"), program->ctaid = slot("w%ctaid.x"), program->clock = slot("d%clock64");
    if (program->ops.empty() || program->ops.back().form->way != END) bad("an entry without end");
    if (program->slots > 0xffff) bad("too many registers");
  }
};
} // namespace

std::map<std::string, std::shared_ptr<Program>> read_module(const char *text) { return Reader(text).module(); }
